#include "compilers/command/compile.hpp"

#include "base/error.hpp"
#include "base/hex.hpp"
#include "base/text.hpp"
#include "compilers/command/kept_files.hpp"
#include "compilers/command/linked_paths.hpp"
#include "compilers/command/program_names.hpp"
#include "compilers/command/readers.hpp"
#include "compilers/command/run_watched.hpp"
#include "compilers/command/step.hpp"
#include "compilers/common/depends_on.hpp"
#include "compilers/common/file_facts.hpp"
#include "watch/source_file.hpp"
#include "watch/tree_log.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <unistd.h>

namespace hearth::command {

namespace {

namespace fs = std::filesystem;

// The C library asks for these by itself, which nobody sees.
constexpr std::array<std::string_view, 17> k_asked_by_libc{
    "LANG",       "LANGUAGE", "LC_ALL",   "LC_CTYPE",       "LC_MESSAGES",    "LD_LIBRARY_PATH",
    "LD_PRELOAD", "LD_AUDIT", "LD_DEBUG", "LD_BIND_NOW",    "GLIBC_TUNABLES", "GCONV_PATH",
    "LOCPATH",    "NLSPATH",  "TZ",       "OUTPUT_CHARSET", "POSIXLY_CORRECT"};

// How many jobs there may be.
const std::vector<std::string_view> k_of_make{"MAKEFLAGS", "MFLAGS", "MAKELEVEL"};

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
void add_absent_libraries(const Plan& plan, const watch::TreeLog& log, watch::Conditions& conditions)
{
    std::set<fs::path> directories;
    for (const std::string& list : log.library_paths()) {
        // What is left out, also at the end, is the working directory.
        const std::string whole = list + ":";
        for (std::string_view rest = whole; !rest.empty();)
            directories.insert(base::take_until(':', rest));
    }
    for (const fs::path& directory : directories)
        for (const std::string& part : log.parts()) {
            if (part.find(".so") == std::string::npos)
                continue;
            const fs::path candidate = directory / fs::path(part).filename();
            const auto from = candidate.is_absolute() ? watch::Spot::From::root : watch::Spot::From::working_directory;
            watch::Condition condition{.kind = watch::Condition::Kind::absent, .spot = {from, 0, candidate.string()}};
            std::error_code error;
            if (!fs::exists(condition.spot.path(plan.question.places), error))
                compilers::add_condition(std::move(condition), conditions);
        }
}

// What programs are that were started by their paths: the content of what runs is known, and not what led there.
void add_links(const watch::TreeLog& log, watch::Conditions& conditions)
{
    for (const std::string& path : log.started()) {
        std::error_code none;
        const fs::path really = fs::canonical(path, none);
        if (!none && really != path)
            compilers::add_condition({.kind = watch::Condition::Kind::really,
                                      .spot = {watch::Spot::From::root, 0, path},
                                      .text = really.string()},
                                     conditions);
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

// A compiler that is a script, or that reads specs, may have added options that its caller did not give. Debug
// information holds no paths where they are fixed.
bool adds_paths(const watch::TreeLog& log, bool paths_are_fixed)
{
    for (const watch::TreeProgram& program : log.programs())
        if (fs::path(program.path).filename().string().starts_with("cc1") &&
            std::ranges::any_of(program.words,
                                [&](const std::string& word) { return keeps_paths(word, paths_are_fixed); }))
            return true;
    // clang takes options from these, and starts no program whose words would tell them.
    bool found = false;
    log.asked().for_each([&](const watch::Event& event) {
        found |= event.error == 0 && ((event.asked == watch::Asked::file && event.name.ends_with(".cfg")) ||
                                      (event.asked == watch::Asked::variable && event.name == "CCC_OVERRIDE_OPTIONS"));
    });
    return found;
}

std::string temporaries()
{
    std::error_code ignored;
    return fs::temp_directory_path(ignored).string();
}

// Which names are in a directory can be held, unless they are others each time.
Status check_listed(const Plan& plan, const watch::TreeLog& log)
{
    for (const std::string& directory : log.listed()) {
        if ((directory == temporaries() && !plan.profile->lists_temporaries) || directory.starts_with("/proc"))
            return error(Code::unavailable, "it lists the directory {}", directory);
        if (directory != temporaries() && std::ranges::any_of(log.left_behind(), [&](const std::string& file) {
                return fs::path(file).parent_path() == directory;
            }))
            return error(Code::unavailable, "it lists the directory {}, and writes a file in it", directory);
    }
    return {};
}

// Whether what was written has the path of a place, where other calls would need their own.
bool holds_places(const Artifact& artifact, const Plan& plan, bool of_dependencies)
{
    return std::ranges::any_of(artifact.sections, [&](const Section& section) {
        return is_of_dependencies(section.name, plan) == of_dependencies &&
               holds_place(section.data.text(), plan.question.places);
    });
}

watch::Links links_of(const Plan& plan)
{
    watch::Links links;
    for (const FixedPath& link : plan.fixed)
        if (!plan.profile->takes_prefix_maps)
            links.emplace_back(link.name, link.descriptor >= 0 ? link.path : "");
    return links;
}

// Steps have found files by the links of the tree that they belong to.
void remove_links(std::vector<watch::Condition>& steps, const Plan& plan)
{
    const watch::Links links = links_of(plan);
    std::vector<watch::Condition> all;
    for (watch::Condition& condition : steps) {
        const std::optional<std::string> path = watch::without_link(condition.spot.rest, links);
        if (!path) {
            all.push_back(std::move(condition));
            continue;
        }
        for (watch::Spot& spot : watch::spots_of(*path, plan.question.places)) {
            all.push_back(condition);
            all.back().spot = std::move(spot);
            if (watch::real_path_of(all.back().spot, plan.question.places) == condition.text)
                all.back().text.clear();
        }
    }
    steps = std::move(all);
}

// cicc completes names of files by the working directory, where lines are told.
bool step_holds_directory(const Artifact& artifact, const Plan& plan)
{
    return plan.profile->writes_names && std::ranges::any_of(artifact.sections, [&](const Section& section) {
               return section.data.text().find(plan.question.places.working_directory) != std::string_view::npos;
           });
}

// `artifact`: has the files that it wrote.
Result<watch::Conditions> conditions_of(Cache& cache, const Plan& plan, const Ended& ended, const watch::TreeLog& log,
                                        const Artifact& artifact)
{
    if (ended.signal != 0 || ended.code != 0)
        return error(Code::unavailable, "it failed");
    if (ended.lives_on)
        return error(Code::unavailable, "a program that it started is still running");
    if (!log.why_not_known().empty())
        return error(Code::unavailable, "{}", log.why_not_known());
    HEARTH_TRY(check_listed(plan, log));
    const ReadUnseen unseen = read_unseen(log.programs(), plan.environment);
    if (!unseen.why_not.empty())
        return error(Code::unavailable, "{}", unseen.why_not);
    if (!ended.streams.empty() && !speaks_english())
        return error(Code::unavailable, "it speaks another language than English, whose messages may change");
    compilers::Told told;
    // A source that counts by its content alone says nothing of where it lies: it has been preprocessed, or is no C++.
    if (plan.call.names_sources)
        told.sources.assign(plan.texts.begin(), plan.texts.end());
    told.options = plan.call.words;
    told.has_log = !ended.streams.empty() && plan.call.names_sources;
    told.paths_are_fixed = !plan.fixed.empty() && !holds_places(artifact, plan, false);
    HEARTH_TRY_SET(std::vector<watch::Condition> steps, conditions_of_steps(log.answered()));
    remove_links(steps, plan);
    // nvcc calls what has no name by the number of a process, so that no two objects of a program have the same. As far
    // as that is known, sources in two directories are two sources.
    if (log.is_numbered() && !plan.options.step_of.empty())
        return error(Code::unavailable, "what it writes holds the number of its process");
    const bool steps_hold_paths = std::ranges::any_of(
        steps, [](const watch::Condition& condition) { return condition.kind == watch::Condition::Kind::place; });
    told.all_paths_matter = log.is_numbered() || steps_hold_paths || plan.call.paths_matter || told.has_log ||
                            unseen.paths || (plan.call.has_debug && !told.paths_are_fixed) ||
                            adds_paths(log, told.paths_are_fixed) || holds_places(artifact, plan, true) ||
                            step_holds_directory(artifact, plan);
    told.time_is_watched = true;
    told.is_c = is_c(log);
    HEARTH_TRY_SET(watch::Conditions conditions,
                   compilers::depends_on(log.asked(), plan.question.places, told, {}, &cache));
    for (const std::string_view name : k_asked_by_libc)
        compilers::add_condition(compilers::variable_now(std::string(name)), conditions);
    for (const std::string& name : unseen.names)
        compilers::add_condition(compilers::variable_now(name), conditions);
    if (unseen.all)
        compilers::add_condition(
            {.kind = watch::Condition::Kind::environment, .digest = watch::digest_of_environment()}, conditions);
    for (const auto& [name, path] : log.found())
        compilers::add_condition({.kind = watch::Condition::Kind::found, .name = name, .text = path}, conditions);
    HEARTH_TRY(add_parts(cache, log, conditions));
    add_absent_libraries(plan, log, conditions);
    add_links(log, conditions);
    add_conditions_of_steps(std::move(steps), plan.question.places, conditions);
    return conditions;
}

// nvcc puts its own directories before PATH, for the programs that it starts; drivers look for themselves.
bool only_searches(std::string_view program)
{
    const std::string_view name = plain_name(program);
    return is_one_of(k_program_nvcc, name) || is_one_of(k_program_cxx, name);
}

}  // namespace

Watching watching_of(const Plan& plan)
{
    const std::string& streams = plan.streams_as;
    return {.recorder = plan.options.recorder,
            .steps_by = is_one_of(k_program_nvcc, plan.profile->name) ? plan.options.steps_by : "",
            .step_of = plan.options.step_of,
            .passes_signals = plan.options.passes_signals,
            .quiet = !streams.empty(),
            .as_terminals = {is_terminal(streams, STDOUT_FILENO), is_terminal(streams, STDERR_FILENO)}};
}

Result<compilers::Watched> compile_now(Cache& cache, const Plan& plan, Done& done)
{
    std::vector<std::string> words = plan.command.words;
    Watching watching = watching_of(plan);
    if (plan.profile->takes_prefix_maps) {
        for (std::string& option : options_of(plan.fixed))
            words.push_back(std::move(option));
    } else {
        words = through_links(std::move(words), plan.call, plan.fixed);
        watching.links = plan.fixed;
    }
    HEARTH_TRY_SET(Ended ended, run_watched(words, watching));
    if (!plan.options.step_of.empty())
        tell_what_ran(plan.options.step_of, ended);
    done = {true, ended.code, ended.signal};
    Artifact artifact;
    artifact.metadata.label = plan.question.label;
    if (!is_for_this_machine(plan))  // else Hearth names itself
        artifact.metadata.compiler = plan.profile->name;
    artifact.metadata.options = {plan.shown.begin() + 1, plan.shown.end()};
    const watch::TreeLog log(ended.log.view(),
                             {.directory = plan.question.places.working_directory,
                              .environment = plan.environment,
                              .recorder = plan.options.recorder,
                              .passing = plan.profile->suffixes.empty() ? std::vector<std::string_view>{} : k_of_make,
                              .known = plan.call.names_sources ? std::vector<std::string>{} : plan.call.sources,
                              .temporaries = temporaries(),
                              .links = links_of(plan),
                              .only_searches = only_searches});
    const Status added_files = ended.code == 0 && ended.signal == 0 ? add_files(log, plan, artifact) : Status{};
    Result<watch::Conditions> conditions = conditions_of(cache, plan, ended, log, artifact);
    if (conditions && !added_files)
        conditions = added_files.error();
    if (conditions && !has_true_dependencies(artifact, conditions->list, plan))
        conditions = error(Code::unavailable, "its dependency file names a file that it has not read");
    if (const Status added = add_streams(plan, std::move(ended.streams), artifact); conditions && !added)
        conditions = added.error();
    return compilers::Watched{std::move(artifact), std::move(conditions)};
}

}  // namespace hearth::command
