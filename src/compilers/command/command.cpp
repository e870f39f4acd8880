#include "hearth/command.hpp"

#include "base/error.hpp"
#include "base/hex.hpp"
#include "base/text.hpp"
#include "compilers/command/kept_files.hpp"
#include "compilers/command/plan.hpp"
#include "compilers/command/program_names.hpp"
#include "compilers/command/readers.hpp"
#include "compilers/command/run_watched.hpp"
#include "compilers/common/depends_on.hpp"
#include "compilers/common/file_facts.hpp"
#include "watch/source_file.hpp"
#include "watch/tree_log.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>

namespace hearth::command {

namespace {

namespace fs = std::filesystem;

// Linkers look here for files that name directories of libraries.
constexpr std::string_view k_of_linkers = "/etc/ld.so.conf.d";

// The C library asks for these by itself, which nobody sees.
constexpr std::array<std::string_view, 17> k_asked_by_libc{
    "LANG",       "LANGUAGE", "LC_ALL",   "LC_CTYPE",       "LC_MESSAGES",    "LD_LIBRARY_PATH",
    "LD_PRELOAD", "LD_AUDIT", "LD_DEBUG", "LD_BIND_NOW",    "GLIBC_TUNABLES", "GCONV_PATH",
    "LOCPATH",    "NLSPATH",  "TZ",       "OUTPUT_CHARSET", "POSIXLY_CORRECT"};

// What the command did, for whoever asked, besides what is kept.
struct Done {
    bool ran = false;
    int code = 0;
    int signal = 0;
};

void add_variable(const std::string& name, watch::Conditions& conditions)
{
    const char* const value = std::getenv(name.c_str());
    compilers::add_condition(
        {.kind = value != nullptr ? watch::Condition::Kind::variable : watch::Condition::Kind::variable_unset,
         .name = name,
         .text = value != nullptr ? value : ""},
        conditions);
}

// The programs that ran, and their libraries: too large to be read each time, so their digests are remembered.
Status add_parts(Cache& cache, const watch::TreeLog& log, watch::Conditions& conditions)
{
    for (const std::string& path : log.parts()) {
        const std::optional<watch::FileIdentity> file = watch::identify(path);
        watch::Condition condition{.kind = watch::Condition::Kind::content, .spot = {watch::Spot::From::root, 0, path}};
        if (!file || !base::from_hex(compilers::digest_of_file(cache, path), condition.digest))
            return error(Code::unavailable, "{} cannot be read", path);
        const auto same = std::ranges::find_if(conditions.stamps.of, [&](const watch::Stamps::One& stamp) {
            return stamp.file.device == file->device && stamp.file.inode == file->inode;
        });
        const auto index = static_cast<std::size_t>(same - conditions.stamps.of.begin());
        compilers::add_condition(std::move(condition), conditions);
        if (index + 1 < conditions.list.size())
            conditions.list.back().same_file = conditions.list[index].same_file;
        conditions.stamps.of.back() = {*file, watch::is_settled(*file)};
    }
    return {};
}

// Where the loader would have found a library first, which nobody sees it look.
void add_absent_libraries(const watch::TreeLog& log, watch::Conditions& conditions)
{
    const char* const searched = std::getenv("LD_LIBRARY_PATH");
    for (std::string_view rest = searched != nullptr ? searched : ""; !rest.empty();) {
        const fs::path directory(base::take_until(':', rest));
        for (const std::string& part : log.parts()) {
            const fs::path candidate = directory / fs::path(part).filename();
            std::error_code error;
            if (!fs::exists(candidate, error))
                compilers::add_condition(
                    {.kind = watch::Condition::Kind::absent, .spot = {watch::Spot::From::root, 0, candidate.string()}},
                    conditions);
        }
    }
}

// Catalogues of messages are read where nobody sees it.
bool speaks_english()
{
    for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"})
        if (const char* const value = std::getenv(name); value != nullptr && *value != '\0') {
            const std::string_view text(value);
            return text == "C" || text == "POSIX" || text.starts_with("C.") || text.starts_with("en_US");
        }
    return true;
}

// Told by the part that read the sources, whatever the compiler is called.
bool is_c(const watch::TreeLog& log)
{
    bool found = false;
    for (const watch::TreeProgram& program : log.programs()) {
        const std::string name = fs::path(program.path).filename().string();
        if (name == "cc1plus" || name.starts_with("clang") || name == "cicc" || name == "cudafe++")
            return false;
        found |= name == "cc1";
    }
    return found;
}

// A compiler that is a script, or that reads specs, may have added options that its caller did not give.
bool adds_paths(const watch::TreeLog& log)
{
    for (const watch::TreeProgram& program : log.programs())
        if (fs::path(program.path).filename().string().starts_with("cc1") &&
            std::ranges::any_of(program.words, [](const std::string& word) { return keeps_paths(word); }))
            return true;
    return false;
}

Result<watch::Conditions> conditions_of(Cache& cache, const Plan& plan, const Ended& ended, const watch::TreeLog& log)
{
    if (ended.signal != 0 || ended.code != 0)
        return error(Code::unavailable, "it failed");
    if (ended.lives_on)
        return error(Code::unavailable, "a program that it started is still running");
    if (!log.why_not_known().empty())
        return error(Code::unavailable, "{}", log.why_not_known());
    for (const std::string& directory : log.listed())
        if (directory != k_of_linkers &&
            (!plan.profile->lists_temporaries || directory != fs::temp_directory_path().string()))
            return error(Code::unavailable, "it lists the directory {}", directory);
    const ReadUnseen unseen = read_unseen(log.programs(), plan.environment);
    if (!unseen.why_not.empty())
        return error(Code::unavailable, "{}", unseen.why_not);
    if (!ended.streams.empty() && !speaks_english())
        return error(Code::unavailable, "it speaks another language than English, whose messages may change");
    compilers::Told told;
    for (const std::string& text : plan.texts)
        told.sources.emplace_back(text);
    told.options = plan.call.words;
    told.has_log = !ended.streams.empty() && plan.call.names_sources;
    told.all_paths_matter = plan.call.paths_matter || told.has_log || unseen.paths || adds_paths(log);
    told.time_is_watched = true;
    told.is_c = is_c(log);
    HEARTH_TRY_SET(watch::Conditions conditions, compilers::depends_on(log.asked(), plan.question.places, told, {}));
    for (const std::string_view name : k_asked_by_libc)
        add_variable(std::string(name), conditions);
    for (const std::string& name : unseen.names)
        add_variable(name, conditions);
    if (unseen.all)
        compilers::add_condition(
            {.kind = watch::Condition::Kind::environment, .digest = watch::digest_of_environment()}, conditions);
    int problem = 0;
    if (std::ranges::find(log.listed(), k_of_linkers) != log.listed().end())
        compilers::add_condition({.kind = watch::Condition::Kind::names,
                                  .spot = {watch::Spot::From::root, 0, std::string(k_of_linkers)},
                                  .digest = watch::digest_of_names(std::string(k_of_linkers), problem)},
                                 conditions);
    for (const auto& [name, path] : log.found())
        compilers::add_condition({.kind = watch::Condition::Kind::found, .name = name, .text = path}, conditions);
    HEARTH_TRY(add_parts(cache, log, conditions));
    add_absent_libraries(log, conditions);
    return conditions;
}

// nvcc puts its own directories before PATH, for the programs that it starts; drivers look for themselves.
bool only_searches(std::string_view program)
{
    const std::string_view name = plain_name(program);
    return is_one_of(k_program_nvcc, name) || is_one_of(k_program_cxx, name);
}

Result<compilers::Watched> compile_now(Cache& cache, const Plan& plan, Done& done)
{
    HEARTH_TRY_SET(Ended ended, run_watched(plan.command.words, plan.options.recorder, plan.options.passes_signals));
    done = {true, ended.code, ended.signal};
    Artifact artifact;
    artifact.metadata.label = plan.question.label;
    artifact.metadata.compiler = plan.profile->name;
    artifact.metadata.options = {plan.command.words.begin() + 1, plan.command.words.end()};
    const watch::TreeLog log(ended.log.view(),
                             {.directory = plan.question.places.working_directory,
                              .environment = plan.environment,
                              .recorder = plan.options.recorder,
                              .known = plan.call.names_sources ? std::vector<std::string>{} : plan.call.sources,
                              .only_searches = only_searches});
    Result<watch::Conditions> conditions = conditions_of(cache, plan, ended, log);
    if (conditions)
        if (const Status added = add_files(log, plan, artifact); !added)
            conditions = added.error();
    if (const Status added = add_streams(plan, std::move(ended.streams), artifact); conditions && !added)
        conditions = added.error();
    return compilers::Watched{std::move(artifact), std::move(conditions)};
}

Ran straight(const Plan& plan, const Ended& ended, std::string why)
{
    return {.code = ended.code,
            .signal = ended.signal,
            .outcome = Outcome::past_the_cache,
            .reason = std::move(why),
            .label = plan.question.label};
}

}  // namespace

Result<Ran> run(Cache& cache, const Command& command, const RunOptions& options)
{
    const auto plan = std::make_shared<const Plan>(make_plan(cache, command, options));
    const std::string& past = plan->question.why_past_the_cache;
    // What compiles nothing is none of ours: links, questions for a version, other programs.
    if (plan->call.only_tells || !plan->call.compiles || !cache.has_tiers()) {
        HEARTH_TRY_SET(const Ended ended, run_watched(command.words, {}, plan->options.passes_signals));
        Ran ran = straight(*plan, ended, past);
        ran.compiles = plan->call.compiles && !plan->call.only_tells;
        return ran;
    }
    const auto done = std::make_shared<Done>();
    if (!past.empty()) {
        const auto compile = [&]() -> Result<Artifact> {
            HEARTH_TRY_SET(const Ended ended, run_watched(command.words, {}, plan->options.passes_signals));
            *done = {true, ended.code, ended.signal};
            return Artifact{};
        };
        HEARTH_TRY(cache.compile_past_the_cache(compile, {.label = plan->question.label}));
        return straight(*plan, {.code = done->code, .signal = done->signal, .streams = {}, .log = {}}, past);
    }
    HEARTH_TRY_SET(const compilers::Answer answer, compilers::answer(cache, plan->question, [plan, done, &cache] {
                       return compile_now(cache, *plan, *done);
                   }));
    Ran ran{.code = done->code,
            .signal = done->signal,
            .reason = answer.why_past_the_cache,
            .label = plan->question.label,
            .key = answer.key,
            .cost = answer.lookup->cost};
    if (done->ran) {
        ran.outcome = answer.why_past_the_cache.empty() ? Outcome::compiled : Outcome::past_the_cache;
        return ran;
    }
    // Where its files cannot be put, the command itself says why.
    if (const Status replayed = replay(*answer.lookup, *plan); !replayed) {
        HEARTH_TRY_SET(const Ended ended, run_watched(command.words, {}, plan->options.passes_signals));
        return straight(*plan, ended, replayed.error().message);
    }
    ran.outcome = answer.lookup.compiled() ? Outcome::waited : Outcome::hit;
    ran.tier = answer.lookup.tier();
    return ran;
}

bool is_compiler(std::string_view program)
{
    return names_compiler(program);
}

Result<Explanation> explain(Cache& cache, const Command& command, const RunOptions& options)
{
    return compilers::explain(cache, make_plan(cache, command, options).question);
}

}  // namespace hearth::command
