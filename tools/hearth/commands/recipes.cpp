#include "hearth/recipes.hpp"
#include "cache/rows.hpp"
#include "commands/bundle_parts.hpp"
#include "hearth/units.hpp"
#include "process/stop_signals.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace hearth::cli {

namespace {

using recipes::Recipe;

struct ListRecipesArguments {
    std::string file;
    bool json = false;
};

struct MergeArguments {
    std::string out;
    std::vector<std::string> files;
    bool json = false;
};

void tell_of(const recipes::Damage& damage)
{
    if (damage.places != 0)
        warn(fmt::format("{} damaged, and left out ({}).", count_of(damage.places, "place is", "places are"),
                         format_size(damage.bytes)));
}

std::string_view name_of(recipes::Kind kind)
{
    switch (kind) {
    case recipes::Kind::nvrtc:
        return "nvrtc";
    case recipes::Kind::command:
        return "command";
    case recipes::Kind::result:
        return "result";
    }
    return "";
}

// Of what was not compiled it is still known what would compile it.
std::string compiler_in(const Recipe& recipe)
{
    if (!recipe.compiler.empty())
        return printable(recipe.compiler);
    return recipe.kind == recipes::Kind::command && !recipe.options.empty()
               ? printable(std::filesystem::path(recipe.options.front()).filename().string())
               : std::string(name_of(recipe.kind));
}

std::string target_of(const Recipe& recipe)
{
    if (!recipe.target.empty())
        return printable(recipe.target);
    return recipe.kind == recipes::Kind::nvrtc ? "default" : "-";
}

Json recipe_as_json(const Recipe& recipe)
{
    const auto seconds = [](std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); };
    return {{"key", recipe.key.hex()},
            {"kind", name_of(recipe.kind)},
            {"name", recipe.name},
            {"target", recipe.target},
            {"options", recipe.options},
            {"name_expressions", recipe.name_expressions},
            {"uses", recipe.uses},
            {"processes", recipe.processes},
            {"first_use_seconds", seconds(recipe.first_use)},
            {"cost_seconds", seconds(recipe.cost)},
            {"source_bytes", recipe.source_bytes},
            {"headers", recipe.headers},
            {"header_bytes", recipe.header_bytes},
            {"compiler", recipe.compiler},
            {"compiler_build", recipe.compiler_build},
            // Without a compiler nothing was compiled, or the recorder did not learn of it.
            {"status", recipe.compiler.empty() ? nullptr : Json(recipe.status)},
            {"past_the_cache", recipe.why_past_the_cache},
            {"missing", recipe.missing}};
}

// Why building this recipe may fail; empty: it can be built.
std::string remark_on(const Recipe& recipe)
{
    if (!recipe.why_past_the_cache.empty())
        return "past the cache: " + recipe.why_past_the_cache;
    if (!recipe.missing.empty())
        return "incomplete: " + recipe.missing;
    return recipe.status != 0 ? fmt::format("failed with {}", recipe.status) : "";
}

void print_table(const recipes::Recipes& all)
{
    Table table({{"KEY"},
                 {"COMPILER"},
                 {"TARGET"},
                 {"USES", Align::right},
                 {"FIRST USE", Align::right},
                 {"COST", Align::right},
                 {"SOURCE", Align::right},
                 {"HEADERS", Align::right},
                 {"NAME"}});
    for (const Recipe& recipe : all.list()) {
        const std::string remark = remark_on(recipe);
        table.add({short_key(recipe.key), compiler_in(recipe), target_of(recipe), std::to_string(recipe.uses),
                   show_duration(recipe.first_use), recipe.cost.count() == 0 ? "-" : show_duration(recipe.cost),
                   format_size(recipe.source_bytes), std::to_string(recipe.headers),
                   (recipe.name.empty() ? "(no name)" : printable(recipe.name)) +
                       (remark.empty() ? "" : " (" + printable(remark) + ")")});
    }
    table.print();
}

int run_list_recipes(const Globals& /*globals*/, const ListRecipesArguments& arguments)
{
    const recipes::Recipes all = or_fail(recipes::read(arguments.file));
    tell_of(all.damage());
    if (arguments.json) {
        for (const Recipe& recipe : all.list())
            print_json(recipe_as_json(recipe));
        return k_done;
    }
    if (all.list().empty()) {
        print_out("No recipe was recorded.\n");
        return k_done;
    }
    print_table(all);
    std::uint64_t uses = 0;
    for (const Recipe& recipe : all.list())
        uses += recipe.uses;
    print_out("{}, {}; contents of {}, stored in {}.\n", count_of(all.list().size(), "recipe", "recipes"),
              count_of(uses, "use", "uses"), format_size(all.content_bytes()), format_size(all.stored_bytes()));
    return k_done;
}

int run_merge(const Globals& /*globals*/, const MergeArguments& arguments)
{
    const StopSignals signals;
    const recipes::MergeReport report = or_fail(recipes::merge(arguments.out, arguments.files));
    stop_if_told();
    tell_of(report.damage);
    if (arguments.json)
        print_json({{"file", arguments.out},
                    {"recipes", report.recipes},
                    {"uses", report.uses},
                    {"bytes", report.bytes},
                    {"damaged_places", report.damage.places},
                    {"damaged_bytes", report.damage.bytes}});
    else
        print_out("Wrote {} with {} to {} ({}).\n", count_of(report.recipes, "recipe", "recipes"),
                  count_of(report.uses, "use", "uses"), printable(arguments.out), format_size(report.bytes));
    return k_done;
}

}  // namespace

void add_recipes(Command& command)
{
    command.describe("Shows and merges recipes: records of what programs compiled, to build it elsewhere.",
                     "  hearth run --record app.recipes -- python app.py\n"
                     "  hearth recipes ls app.recipes\n"
                     "  hearth recipes merge all.recipes node*.recipes",
                     "'hearth build' compiles them. docs/recipes.md tells how a fleet starts warm with them.");
    Command ls = command.part(
        "ls", "Lists the recorded recipes: targets, uses, time of first use, cost",
        "  hearth recipes ls app.recipes\n"
        "  hearth recipes ls app.recipes --json | jq -r 'select(.past_the_cache != \"\") | .past_the_cache'");
    auto& listed = ls.runs(run_list_recipes);
    ls.text("FILE", listed.file, "What HEARTH_RECORD or 'hearth recipes merge' wrote").required();
    ls.json(listed.json, "One JSON object per line: key, name, target, options, uses, ...");

    Command merge =
        command.part("merge", "Writes the recipes of several files to one: each recipe once, its uses added up",
                     "  hearth recipes merge all.recipes node*.recipes\n"
                     "  hearth recipes merge small.recipes grown.recipes");
    auto& merged = merge.runs(run_merge);
    merge.text("OUT", merged.out, "The file to write; it may be one of the others").required();
    merge.list("FILE", merged.files, "Files to take recipes from").required();
    merge.json(merged.json);
}

}  // namespace hearth::cli
