#include "cache/kernels.hpp"
#include "cache/open_cache.hpp"
#include "cache/rows.hpp"
#include "cache/selection.hpp"
#include "cache/variant_records.hpp"
#include "hearth/admin.hpp"
#include "hearth/explain.hpp"
#include "hearth/units.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

namespace hearth::cli {

namespace {

struct ShowArguments {
    Selection selection;
    bool json = false;
};

// All that is known about one entry.
struct Shown {
    EntryRow row;
    const Artifact& artifact;
    std::vector<std::string> tiers;
    std::vector<Field> fields;
    std::vector<Dependency> dependencies;
    std::vector<FoundRecord> variants;  // measured of it
};

std::string_view kind_name(FieldKind kind)
{
    switch (kind) {
    case FieldKind::text:
        return "text";
    case FieldKind::bytes:
        return "bytes";
    case FieldKind::number:
        return "number";
    case FieldKind::flag:
        return "flag";
    case FieldKind::list:
        return "list";
    }
    return "unknown";
}

void print_as_json(const Shown& shown)
{
    Json object = row_as_json(shown.row);
    object.add("expires", time_as_json(shown.artifact.expires));
    object.add("tiers", shown.tiers);
    object.add("kernels", kernels_of(shown.artifact));
    object.add("compiler_build", shown.row.compiler_build);
    object.add("sections", Json::array_of(shown.artifact.sections, [](const Section& section) -> Json {
                   return {{"name", section.name}, {"bytes", section.data.size()}};
               }));
    object.add("request", Json::array_of(shown.fields, [](const Field& field) -> Json {
                   return {{"name", field.name},
                           {"kind", kind_name(field.kind)},
                           {"value", field.display()},
                           {"digested", field.digested},
                           {"bytes", field.size}};
               }));
    object.add("dependencies", Json::array_of(shown.dependencies, [](const Dependency& one) -> Json {
                   return {{"kind", one.kind}, {"what", one.what}, {"value", one.value}};
               }));
    object.add("variants", Json::array_of(shown.variants, as_json));
    print_json(object);
}

// What it depends on. A compile with many headers has hundreds of them.
void print_dependencies(const std::vector<Dependency>& all)
{
    static constexpr std::size_t k_most = 25;
    if (all.empty())
        return;
    print_out("\n");
    Table table({{"DEPENDS ON"}, {"WHAT"}, {"VALUE"}});
    for (std::size_t i = 0; i < std::min(all.size(), k_most); ++i)
        table.add({all[i].kind, printable(all[i].what), printable(all[i].value)});
    table.print();
    if (all.size() > k_most)
        print_out("and {} more: --json shows all.\n", all.size() - k_most);
}

std::string moment(WallTime time)
{
    const auto text = iso_time(time);
    return text ? fmt::format("{} ({})", *text, show_age(time, now())) : "never";
}

void print_for_people(const Shown& shown)
{
    const EntryRow& row = shown.row;
    FactList facts;
    facts.add("key", row.key.hex());
    facts.add("label", printable(row.metadata.label));
    facts.add("compiler", printable(row.metadata.compiler));
    if (!row.compiler_build.empty())
        facts.add("build", printable(row.compiler_build));
    facts.add("target", printable(row.metadata.target));
    facts.add("options", options_line(row.metadata.options));
    if (const std::vector<std::string> kernels = kernels_of(shown.artifact); !kernels.empty())
        facts.add("kernels", printable(fmt::format("{}", fmt::join(kernels, " "))));
    facts.add("status", row.status == 0 ? "0 (success)" : fmt::format("{} (a compile that failed)", row.status));
    facts.add("size", fmt::format("{} ({} stored)", format_size(row.bytes), format_size(row.stored_bytes)));
    facts.add("cost", show_duration(row.cost));
    facts.add("created", moment(row.created));
    facts.add("written by", row.metadata.writer.empty() ? "unknown" : "Hearth " + printable(row.metadata.writer));
    facts.add("last used", moment(row.last_used));
    facts.add("uses", std::to_string(row.uses));
    facts.add("expires", iso_time(shown.artifact.expires).value_or("never"));
    facts.add("tiers", printable(fmt::format("{}", fmt::join(shown.tiers, ", "))));
    facts.print();

    if (!shown.variants.empty())
        print_out("\n");
    print_winners(shown.variants);
    if (const auto record = cuda::variant_record(shown.artifact)) {
        print_out("\n");
        print_variants(*record);
    }
    print_dependencies(shown.dependencies);
    print_out("\n");
    Table sections({{"SECTION"}, {"SIZE", Align::right}});
    for (const Section& section : shown.artifact.sections)
        sections.add({section.name.empty() ? "(unnamed)" : printable(section.name), format_size(section.data.size())});
    sections.print();

    if (shown.fields.empty()) {
        print_out("\nThe request is not kept with this entry: only its key is known.\n");
        return;
    }
    print_out("\n");
    Table fields({{"REQUEST FIELD"}, {"KIND"}, {"SIZE", Align::right}, {"VALUE"}});
    for (const Field& field : shown.fields)
        fields.add({printable(field.name), std::string(kind_name(field.kind)), std::to_string(field.size),
                    printable(field.display())});
    fields.print();
}

int run_show(const Globals& globals, const ShowArguments& arguments)
{
    Cache cache = open_cache(globals, Use::read);
    const std::optional<Key> chosen = find_one(cache, arguments.selection);
    if (!chosen) {
        complain(nothing_matches(arguments.selection) + ".");
        return k_nothing;
    }
    const Key& key = *chosen;
    const std::optional<EntryRow> row = admin::info(cache, key);
    const std::vector<std::string> tiers = admin::where(cache, key);
    // Sections and request are in the entry itself, which only a lookup reads. This cache does not count lookups.
    Cache uncounted = open_cache(globals, Use::look);
    const Lookup found = uncounted.find(key);
    if (!found || !row) {
        complain(fmt::format("Miss ({}): there is no usable entry for {}.", to_string(found.why()),
                             in_quotes(*arguments.selection.pattern)));
        return k_nothing;
    }
    const Shown shown{*row,
                      *found,
                      tiers,
                      Request(key, found->request).fields(),
                      dependencies(*found),
                      variant_records_of(uncounted, key)};
    if (arguments.json)
        print_as_json(shown);
    else
        print_for_people(shown);
    return k_done;
}

}  // namespace

void add_show(Command& command)
{
    command.describe(
        "Shows everything about an entry but its bytes: metadata, sections, and the request behind its key.",
        "  hearth show saxpy\n"
        "  hearth show 1f3a9c04\n"
        "  hearth show saxpy.cu --target sm_90\n"
        "  hearth show saxpy --json | jq .sections");
    auto& arguments = command.runs(run_show);
    add_selection(command, arguments.selection, "KEY").required();
    command.json(arguments.json);
}

}  // namespace hearth::cli
