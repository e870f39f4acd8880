#include "compilers/command/record.hpp"

#include "base/digest.hpp"
#include "base/hex.hpp"
#include "compilers/command/comparable.hpp"
#include "compilers/command/installed.hpp"
#include "compilers/command/targets.hpp"
#include "recipes/contents.hpp"
#include "watch/manifest.hpp"
#include "watch/source_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

namespace hearth::command {

namespace {

namespace fs = std::filesystem;
using Kind = watch::Condition::Kind;

Key name_of_recipe(const std::string& question, const base::Sha256& conditions)
{
    return Key::of("command recipe", question, base::to_hex(std::as_bytes(std::span(conditions))));
}

// The files that were read below the places that the command names, and are its user's own.
std::vector<format::RecipeFile> own_files(const std::vector<watch::Condition>& conditions, const Plan& plan)
{
    const Installed installed(plan.command.words.front(), plan.question.places.working_directory);
    std::vector<format::RecipeFile> files;
    std::set<std::string> known(plan.call.sources.begin(), plan.call.sources.end());
    // Nobody has read what was only looked for, so it is recorded without its text: who wrote the entry chose the path.
    for (const Kind kind : {Kind::content, Kind::present})
        for (const watch::Condition& condition : conditions) {
            if (condition.kind != kind || condition.spot.from == watch::Spot::From::root)
                continue;
            const base::Sha256 digest = kind == Kind::content ? condition.digest : base::sha256({});
            format::RecipeFile file{condition.spot.shown(plan.question.places), {}, digest, false};
            if (!installed.has(condition.spot.path(plan.question.places)) && known.insert(file.path).second)
                files.push_back(std::move(file));
        }
    return files;
}

// Programs are searched along it, and the conditions only say what was found.
std::string path_variable()
{
    const char* const value = std::getenv("PATH");
    return value != nullptr ? std::string("PATH=") + value + '\0' : std::string{};
}

struct Recorded {
    format::Recipe recipe;
    Bytes conditions{};
};

Recorded recorded(const Plan& plan, const compilers::Answer* answer)
{
    Recorded made;
    format::Recipe& recipe = made.recipe;
    recipe.kind = format::RecipeKind::command;
    recipe.name = plan.call.sources.empty() ? plan.question.label : plan.call.sources.front();
    recipe.options = plan.command.words;
    recipe.names = plan.question.places.directories;
    recipe.source = base::sha256(as_bytes(plan.texts.empty() ? std::string{} : plan.texts.front()));
    for (std::size_t i = 1; i < plan.texts.size(); ++i)
        recipe.given.push_back({plan.call.sources[i], base::sha256(as_bytes(plan.texts[i]))});
    recipe.target = target_of(plan.command.words);
    recipe.build_id = plan.build;
    recipe.environment = path_variable();
    recipe.working_directory = plan.question.places.working_directory;
    recipe.why_past_the_cache = answer != nullptr ? answer->why_past_the_cache : plan.question.why_past_the_cache;
    if (answer != nullptr)
        recipe.compiler = fs::path(plan.command.words.front()).filename().string();
    if (!recipe.why_past_the_cache.empty()) {
        recipe.key = format::key_of_past_the_cache(recipe);
        return made;
    }
    recipe.builtins = plan.question.request.key().hex();
    if (const auto conditions = answer != nullptr ? compilers::conditions_of(*answer->lookup) : std::nullopt) {
        made.conditions = watch::encode_conditions(comparable(*conditions));
        recipe.conditions = base::sha256(made.conditions);
        recipe.files = own_files(*conditions, plan);
        recipe.cost = std::max(answer->lookup->cost, std::chrono::nanoseconds(0));
    }
    recipe.key = name_of_recipe(recipe.builtins, recipe.conditions);
    return made;
}

bool add_contents(recipes::Contents contents, const Plan& plan, const Recorded& made)
{
    const format::Recipe& recipe = made.recipe;
    if (!contents.add(plan.texts.empty() ? std::string{} : plan.texts.front(), recipe.source))
        return false;
    for (std::size_t i = 0; i < recipe.given.size(); ++i)
        if (!contents.add(plan.texts[i + 1], recipe.given[i].digest))
            return false;
    const base::Sha256 empty = base::sha256({});
    for (const format::RecipeFile& file : recipe.files)
        if (!contents.add(file.digest, [&]() -> std::optional<std::string> {
                if (file.digest == empty)
                    return "";
                std::optional<watch::SourceFile> source =
                    watch::read_source((fs::path(recipe.working_directory) / file.path).string());
                return source ? std::optional(std::move(source->text)) : std::nullopt;
            }))
            return false;
    return made.conditions.empty() || contents.add(made.conditions.text(), recipe.conditions);
}

void record_in(recipes::Recorder& recorder, const LogSink& log, const Plan& plan, const compilers::Answer* answer)
{
    if (recorder.stopped())
        return;
    if (!recipes::may_record(plan.question.label, plan.command.words, {}, log))
        return;
    recorder.look_for_the_file();
    // Each command is a process of its own, and its neighbours read mostly the same headers.
    recorder.learn_what_is_there();
    const Recorded made = recorded(plan, answer);
    if (recorder.claim(made.recipe.key)) {
        if (!add_contents(recipes::Contents(recorder, log), plan, made)) {
            recorder.disclaim(made.recipe.key);
            return;
        }
        recorder.append(format::encode_recipe(made.recipe), log);
    }
    recorder.use(made.recipe.key, log);
}

}  // namespace

void record(Cache& cache, const Plan& plan, const compilers::Answer* answer, const Done& done) noexcept
{
    const Recording* recording = cache.recording();
    // Of a command that is no known compiler nobody knows which of its words name files. A step is built with what it
    // is a step of.
    if (recording == nullptr || done.code != 0 || done.signal != 0 || plan.profile->suffixes.empty() ||
        !plan.options.step_of.empty())
        return;
    try {
        record_in(recipes::Recorder::of(recording->path), recording->log, plan, answer);
    } catch (...) {
        // Out of memory, or the user's log function threw: no reason for a command to fail.
    }
}

bool has_its_name(const format::Recipe& recipe)
{
    return recipe.why_past_the_cache.empty() ? name_of_recipe(recipe.builtins, recipe.conditions) == recipe.key
                                             : format::key_of_past_the_cache(recipe) == recipe.key;
}

watch::Places places_of(const format::Recipe& recipe)
{
    return {.working_directory = recipe.working_directory,
            .program_directory = recipe.given.empty() ? directory_of(recipe.name) : std::string{},
            .directories = recipe.names};
}

}  // namespace hearth::command
