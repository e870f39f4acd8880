#include "compilers/nvrtc/record.hpp"

#include "base/digest.hpp"
#include "base/text.hpp"
#include "recipes/contents.hpp"
#include "watch/source_file.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <set>

namespace hearth::nvrtc {

namespace {

// Where a file was found, in a way that is the same when the tree has moved.
std::string label_of(const watch::Spot& spot)
{
    switch (spot.from) {
    case watch::Spot::From::root:
        return "A:" + spot.rest;
    case watch::Spot::From::working_directory:
        return "C:" + spot.rest;
    case watch::Spot::From::program_directory:
        return "P:" + spot.rest;
    case watch::Spot::From::directory:
        return fmt::format("I{}:{}", spot.index, spot.rest);
    }
    return {};
}

bool add_contents(recipes::Contents contents, const Program& program, const format::Recipe& recipe)
{
    if (!contents.add(program.source, recipe.source))
        return false;
    for (std::size_t i = 0; i < program.headers.size(); ++i)
        if (!contents.add(program.headers[i].content, recipe.given[i].digest))
            return false;
    const base::Sha256 empty = base::sha256({});
    for (const format::RecipeFile& file : recipe.files)
        if (!contents.add(file.digest, [&]() -> std::optional<std::string> {
                if (file.digest == empty)
                    return "";
                std::optional<watch::SourceFile> source = watch::read_source(
                    file.path.starts_with('/') ? file.path : recipe.working_directory + "/" + file.path);
                return source ? std::optional(std::move(source->text)) : std::nullopt;
            }))
            return false;
    return true;
}

// What has to be the same where a recipe is built.
void note_for_building(const watch::Condition& condition, format::Recipe& recipe)
{
    using From = watch::Spot::From;
    if (condition.kind == watch::Condition::Kind::variable && k_appended_flags == condition.name + "=")
        recipe.environment.append(condition.name).append("=").append(condition.text).push_back('\0');
    if (condition.kind != watch::Condition::Kind::place)
        return;
    recipe.program_path_matters |= condition.spot.from == From::program_directory;
    recipe.all_paths_matter |= condition.spot.from == From::working_directory;
    if (condition.spot.from == From::directory)
        for (format::RecipeFile& file : recipe.files)
            file.path_matters |= file.label.starts_with(fmt::format("I{}:", condition.spot.index));
}

format::Recipe recipe_of(const Program& program, const Plan& plan, const compilers::Answer* answer)
{
    format::Recipe recipe;
    recipe.source = base::sha256(as_bytes(program.source));
    recipe.name = program.name;
    recipe.options = plan.options;
    recipe.names = program.name_expressions;
    for (const Header& header : program.headers)
        recipe.given.push_back({header.name, base::sha256(as_bytes(header.content))});
    recipe.target = plan.facts.target;
    recipe.build_id = plan.compiler.build_id;
    recipe.builtins = plan.compiler.builtins;
    recipe.environment = joined_environment(plan.environment);
    recipe.working_directory = plan.places.working_directory;
    recipe.why_past_the_cache = answer != nullptr ? answer->why_past_the_cache : plan.why_past_the_cache;
    if (answer != nullptr) {
        recipe.compiler = answer->lookup->metadata.compiler;
        recipe.status = answer->lookup->status;
    }
    if (!recipe.why_past_the_cache.empty()) {
        recipe.key = format::key_of_past_the_cache(recipe);
        return recipe;
    }
    if (answer != nullptr) {
        if (const auto conditions = compilers::conditions_of(*answer->lookup)) {
            recipe.files = files_of(*conditions, plan.places);
            for (const watch::Condition& condition : *conditions)
                note_for_building(condition, recipe);
        }
        if (answer->lookup->cost.count() > 0)
            recipe.cost = answer->lookup->cost;
    }
    recipe.key = name_of_recipe(plan.request.key(), recipe.files);
    return recipe;
}

void record_in(recipes::Recorder& recorder, const LogSink& log, const Program& program, const Plan& plan,
               const compilers::Answer* answer)
{
    if (recorder.stopped())
        return;
    recorder.look_for_the_file();
    const bool has_key = answer != nullptr && answer->why_past_the_cache.empty();
    if (has_key)
        if (const std::optional<Key> known = recorder.recipe_of(answer->key)) {
            recorder.use(*known, log);
            return;
        }
    std::vector<std::string> variables = plan.environment;
    if (const char* const appended = std::getenv("NVRTC_APPEND_FLAGS"))
        variables.push_back(std::string(k_appended_flags) + appended);
    if (!recipes::may_record(plan.program_name, plan.options, variables, log))
        return;
    const format::Recipe recipe = recipe_of(program, plan, answer);
    if (recorder.claim(recipe.key)) {
        if (!add_contents(recipes::Contents(recorder, log), program, recipe)) {
            recorder.disclaim(recipe.key);
            return;
        }
        recorder.append(format::encode_recipe(recipe), log);
    }
    if (has_key)
        recorder.remember(answer->key, recipe.key);
    recorder.use(recipe.key, log);
}

}  // namespace

std::string joined_environment(const std::vector<std::string>& variables)
{
    std::string joined;
    for (const std::string& variable : variables)
        joined.append(variable).push_back('\0');
    return joined;
}

std::vector<std::string> split_environment(std::string_view joined)
{
    std::vector<std::string> variables;
    while (!joined.empty())
        variables.emplace_back(base::take_until('\0', joined));
    return variables;
}

Key name_of_recipe(const Key& question, const std::vector<format::RecipeFile>& files)
{
    if (files.empty())
        return question;
    std::string all;
    for (const format::RecipeFile& file : files)
        all.append(file.label).append("\n").append(as_text(std::as_bytes(std::span(file.digest))));
    return Key::of("nvrtc recipe", question.hex(), all);
}

std::vector<format::RecipeFile> files_of(const std::vector<watch::Condition>& conditions, const watch::Places& places)
{
    using Kind = watch::Condition::Kind;
    std::vector<format::RecipeFile> files;
    std::set<std::string> known;
    // Nobody has read what was only looked for, so it is recorded without its text: who wrote the entry chose the path.
    for (const Kind kind : {Kind::content, Kind::present})
        for (const watch::Condition& condition : conditions) {
            if (condition.kind != kind)
                continue;
            const base::Sha256 digest = kind == Kind::content ? condition.digest : base::sha256({});
            format::RecipeFile file{condition.spot.shown(places), label_of(condition.spot), digest, false};
            if (known.insert(file.path).second)
                files.push_back(std::move(file));
        }
    return files;
}

void record(Cache& cache, const Program& program, const Plan& plan, const compilers::Answer* answer) noexcept
{
    const Recording* recording = cache.recording();
    if (recording == nullptr)
        return;
    try {
        record_in(recipes::Recorder::of(recording->path), recording->log, program, plan, answer);
    } catch (...) {
        // Out of memory, or the user's log function threw: no reason for a compile to fail.
    }
}

}  // namespace hearth::nvrtc
