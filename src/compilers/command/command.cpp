#include "hearth/command.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hex.hpp"
#include "base/placed_file.hpp"
#include "base/text.hpp"
#include "compilers/command/dependency_file.hpp"
#include "compilers/command/profile.hpp"
#include "compilers/command/readers.hpp"
#include "compilers/command/run_watched.hpp"
#include "compilers/common/answer.hpp"
#include "compilers/common/depends_on.hpp"
#include "compilers/common/file_facts.hpp"
#include "hearth/libraries.hpp"
#include "watch/source_file.hpp"
#include "watch/tree_log.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <sys/ioctl.h>
#include <unistd.h>

namespace hearth::command {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t k_request_version = 1;
constexpr std::string_view k_streams = "streams";

// The C library asks for these by itself, which nobody sees.
constexpr std::array<std::string_view, 17> k_asked_by_libc{
    "LANG",       "LANGUAGE", "LC_ALL",   "LC_CTYPE",       "LC_MESSAGES",    "LD_LIBRARY_PATH",
    "LD_PRELOAD", "LD_AUDIT", "LD_DEBUG", "LD_BIND_NOW",    "GLIBC_TUNABLES", "GCONV_PATH",
    "LOCPATH",    "NLSPATH",  "TZ",       "OUTPUT_CHARSET", "POSIXLY_CORRECT"};

// Everything that decides how one command is run and answered.
struct Plan {
    Command command;
    RunOptions options;
    const Profile* profile = nullptr;
    Call call;
    std::vector<std::string> texts;  // of the sources, one each
    std::vector<std::string> environment;
    compilers::Question question;
};

// What the command did, for whoever asked, besides what is kept.
struct Done {
    bool ran = false;
    int code = 0;
    int signal = 0;
};

std::string directory_of(const std::string& path)
{
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? std::string{} : slash == 0 ? "/" : path.substr(0, slash);
}

std::vector<std::string> whole_environment()
{
    std::vector<std::string> all;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each)
        all.emplace_back(*each);
    return all;
}

// A file that was written, as a section of the entry: "file" or "program", then " output N", one of those that the call
// named, or " here NAME", in the working directory.
constexpr std::string_view k_file = "file ";
constexpr std::string_view k_program = "program ";
constexpr std::string_view k_output = "output ";
constexpr std::string_view k_here = "here ";

// Empty: other calls would not know where to put it.
std::string section_of(const std::string& path, const Plan& plan)
{
    const fs::path working(plan.question.places.working_directory);
    const std::string_view kind = ::access(path.c_str(), X_OK) == 0 ? k_program : k_file;
    for (std::size_t i = 0; i < plan.call.outputs.size(); ++i)
        if ((working / plan.call.outputs[i]).lexically_normal() == path)
            return fmt::format("{}{}{}", kind, k_output, i);
    const fs::path relative = fs::path(path).lexically_relative(working);
    const bool is_here = !relative.empty() && *relative.begin() != "..";
    // A compiler that is not told where writes here.
    if (is_here && (plan.profile->suffixes.empty() || (!relative.has_parent_path() && !plan.call.names_output)))
        return fmt::format("{}{}{}", kind, k_here, relative.string());
    return {};
}

// Where this call wants it. Empty: the section is no file.
std::string path_of(std::string_view section, const Plan& plan)
{
    if (!section.starts_with(k_file) && !section.starts_with(k_program))
        return {};
    std::string_view place = section.substr(section.find(' ') + 1);
    if (place.starts_with(k_here))
        return std::string(place.substr(k_here.size()));
    std::size_t index = 0;
    place.remove_prefix(std::min(place.size(), k_output.size()));
    const auto [end, error] = std::from_chars(place.data(), place.data() + place.size(), index);
    return error == std::errc{} && index < plan.call.outputs.size() ? plan.call.outputs[index] : std::string{};
}

// Outputs that a file of dependencies tells by the names that the call gives them.
std::vector<std::string> targets_of(const Call& call)
{
    return call.names_targets ? std::vector<std::string>{} : call.outputs;
}

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

Result<watch::Conditions> conditions_of(Cache& cache, const Plan& plan, const Ended& ended, const watch::TreeLog& log)
{
    if (ended.signal != 0 || ended.code != 0)
        return error(Code::unavailable, "it failed");
    if (ended.lives_on)
        return error(Code::unavailable, "a program that it started is still running");
    if (!log.why_not_known().empty())
        return error(Code::unavailable, "{}", log.why_not_known());
    for (const std::string& directory : log.listed())
        if (!plan.profile->lists_temporaries || directory != fs::temp_directory_path().string())
            return error(Code::unavailable, "it lists the directory {}", directory);
    if (!ended.streams.empty() && !speaks_english())
        return error(Code::unavailable, "it speaks another language than English, whose messages may change");
    compilers::Told told;
    for (const std::string& text : plan.texts)
        told.sources.emplace_back(text);
    told.options = plan.call.words;
    told.has_log = !ended.streams.empty();
    told.all_paths_matter = plan.call.paths_matter || told.has_log;
    HEARTH_TRY_SET(watch::Conditions conditions, compilers::depends_on(log.asked(), plan.question.places, told, {}));
    for (const std::string_view name : k_asked_by_libc)
        add_variable(std::string(name), conditions);
    const ReadUnseen unseen = read_unseen(log.programs(), plan.environment);
    for (const std::string& name : unseen.names)
        add_variable(name, conditions);
    if (unseen.all)
        compilers::add_condition(
            {.kind = watch::Condition::Kind::environment, .digest = watch::digest_of_environment()}, conditions);
    HEARTH_TRY(add_parts(cache, log, conditions));
    add_absent_libraries(log, conditions);
    return conditions;
}

// The section of one of the outputs.
const Section* file_of(const Artifact& artifact, std::size_t output)
{
    for (const std::string_view kind : {k_file, k_program})
        if (const Section* const section = artifact.find(fmt::format("{}{}{}", kind, k_output, output)))
            return section;
    return nullptr;
}

// What it wrote, as sections.
Status add_files(const watch::TreeLog& log, const Plan& plan, Artifact& artifact)
{
    for (const std::string& path : log.left_behind()) {
        std::string section = section_of(path, plan);
        std::optional<watch::SourceFile> file = watch::read_source(path);
        if (section.empty() || !file)
            return error(Code::unavailable, "it writes {}, which it was not asked for", path);
        Bytes content = Bytes::copy_of(file->text);
        if (plan.call.dependencies && section.ends_with(fmt::format("{}{}", k_output, *plan.call.dependencies))) {
            std::optional<Bytes> kept = without_places(file->text, plan.question.places, targets_of(plan.call));
            if (!kept)
                return error(Code::unavailable, "{} tells dependencies in a way that is not understood", path);
            content = *std::move(kept);
        }
        artifact.sections.push_back({std::move(section), std::move(content)});
    }
    for (std::size_t i = 0; i < plan.call.outputs.size(); ++i)
        if (file_of(artifact, i) == nullptr)
            return error(Code::unavailable, "it has not written {}", plan.call.outputs[i]);
    return {};
}

Result<compilers::Watched> compile_now(Cache& cache, const Plan& plan, Done& done)
{
    HEARTH_TRY_SET(Ended ended, run_watched(plan.command.words, plan.options.recorder, plan.options.passes_signals));
    done = {true, ended.code, ended.signal};
    Artifact artifact;
    artifact.metadata.label = plan.question.label;
    artifact.metadata.compiler = plan.profile->name;
    artifact.metadata.options = {plan.command.words.begin() + 1, plan.command.words.end()};
    const watch::TreeLog log(ended.log.view(), plan.question.places.working_directory, plan.environment,
                             plan.options.recorder);
    Result<watch::Conditions> conditions = conditions_of(cache, plan, ended, log);
    if (conditions)
        if (const Status added = add_files(log, plan, artifact); !added)
            conditions = added.error();
    artifact.sections.push_back({std::string(k_streams), std::move(ended.streams)});
    return compilers::Watched{std::move(artifact), std::move(conditions)};
}

// The command has not run: its files and its output are given as they were.
Status replay(const Artifact& artifact, const Plan& plan)
{
    for (std::size_t i = 0; i < plan.call.outputs.size(); ++i)
        if (file_of(artifact, i) == nullptr)
            return error(Code::corrupt, "The entry of {} lacks {}.", plan.question.label, plan.call.outputs[i]);
    for (const Section& section : artifact.sections) {
        const std::string path = path_of(section.name, plan);
        if (path.empty())
            continue;
        std::optional<std::string> dependencies;
        if (plan.call.dependencies && path == plan.call.outputs[*plan.call.dependencies]) {
            dependencies = with_places(section.data.text(), plan.question.places, targets_of(plan.call));
            if (!dependencies)
                return error(Code::corrupt, "The dependencies of {} are damaged.", plan.question.label);
        }
        // As assemblers do: an output of before, or a link to it, is replaced; an empty file is written to.
        std::error_code none;
        if (const std::uintmax_t size = fs::file_size(path, none); !none && size > 0)
            static_cast<void>(::unlink(path.c_str()));
        base::PlacedFile file(base::system_files(), path, section.name.starts_with(k_program) ? 0777 : 0666);
        file.write(dependencies ? as_bytes(*dependencies) : section.data.view(), 0);
        HEARTH_TRY(file.place(base::PlacedFile::Sync::no));
    }
    write_streams(artifact.text(k_streams));
    return {};
}

Result<std::string> text_of(const std::string& path)
{
    std::error_code ignored;
    std::optional<watch::SourceFile> file;
    if (fs::is_regular_file(path, ignored))
        file = watch::read_source(path);
    if (!file)
        return error(Code::not_found, "{} cannot be read, or is no file", path);
    return std::move(file->text);
}

// What compilers may ask of the streams, which decides how they say things.
std::string terminals()
{
    std::string text = "streams:";
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        winsize size{};
        const bool has_size = ::isatty(stream) != 0 && ::ioctl(stream, TIOCGWINSZ, &size) == 0;
        text += has_size ? fmt::format(" a terminal of {} columns", size.ws_col) : " no terminal";
    }
    return text;
}

// A file of dependencies tells these as they were given, unless make would read them otherwise.
bool is_plain(const std::string& path)
{
    const auto is_odd = [](char c) {
        return !base::is_letter_or_digit(c) && std::string_view("_./+-").find(c) == std::string_view::npos;
    };
    return std::ranges::none_of(path, is_odd) && !path.starts_with("./") && path.find("//") == std::string::npos &&
           path.find("/./") == std::string::npos;
}

Plan make_plan(Cache& cache, const Command& command, const RunOptions& options)
{
    static const Profile k_any{
        .name = "command", .programs = {}, .options = {}, .suffixes = {}, .compiles_always = true};
    Plan plan;
    plan.command = command;
    plan.options = options;
    plan.profile = profile_of(command.words.front());
    std::string& past = plan.question.why_past_the_cache;
    if (plan.profile == nullptr) {
        plan.profile = &k_any;
        if (options.serves == Serves::compilers)
            past = fmt::format("{} is no compiler that is known", command.words.front());
    }
    const std::vector<std::string> arguments(command.words.begin() + 1, command.words.end());
    plan.call = read_call(*plan.profile, arguments);
    plan.call.paths_matter |= plan.profile == &k_any;
    plan.environment = whole_environment();
    plan.question.label =
        fs::path(plan.call.sources.empty() ? command.words.front() : plan.call.sources.front()).filename().string();
    if (past.empty())
        past = plan.call.why_past_the_cache;
    if (past.empty() && options.recorder.empty())
        past = "the recorder is not installed";
    if (plan.call.only_tells || !past.empty())
        return plan;
    std::error_code ignored;
    watch::Places& places = plan.question.places;
    places.working_directory = fs::current_path(ignored).string();
    places.directories = plan.call.directories;
    const std::string build = build_of_file(cache, command.words.front());
    KeyBuilder key("command");
    key.number("request version", k_request_version)
        .text("compiler", plan.profile->name)
        .text("program", fs::path(command.words.front()).filename().string())
        .text("compiler build", build)
        // Compilers look for their parts beside themselves.
        .text("program named", (fs::path(places.working_directory) / command.words.front()).string())
        .text("program found", fs::canonical(command.words.front(), ignored).string())
        .list("words", plan.call.words);
    for (const std::string& source : plan.call.sources) {
        Result<std::string> text = text_of(source);
        if (!text) {
            past = text.error().message;
            return plan;
        }
        key.text("source", *text);
        plan.texts.push_back(*std::move(text));
    }
    if (plan.call.sources.size() == 1)
        places.program_directory = directory_of(plan.call.sources.front());
    else
        key.list("sources", plan.call.sources);
    // The compiler refuses that, or loses it. We do neither.
    for (const std::string& output : plan.call.outputs)
        for (const std::string& source : plan.call.sources)
            if (fs::equivalent(output, source, ignored)) {
                past = fmt::format("its output {} is its source", output);
                return plan;
            }
    // Files beside a source that was named without a directory are told without one too.
    if (plan.call.dependencies) {
        key.number("source has a directory", places.program_directory.empty() ? 0 : 1);
        for (const std::vector<std::string>* names : {&plan.call.sources, &plan.call.outputs, &plan.call.directories})
            if (!std::ranges::all_of(*names, is_plain))
                past = "its dependencies have names that make would read otherwise";
        if (!past.empty())
            return plan;
    }
    // Compilers colour what they say for a terminal. So that is one of the places whose change counts where it is kept.
    places.directories.push_back(terminals());
    plan.question.request = key.build();
    return plan;
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
        return straight(*plan, ended, past.empty() ? "it only tells something" : past);
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

Result<Explanation> explain(Cache& cache, const Command& command, const RunOptions& options)
{
    return compilers::explain(cache, make_plan(cache, command, options).question);
}

}  // namespace hearth::command
