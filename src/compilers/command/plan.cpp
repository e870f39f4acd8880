#include "compilers/command/plan.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "compilers/command/kept_files.hpp"
#include "compilers/command/linked_paths.hpp"
#include "compilers/command/output_kinds.hpp"
#include "compilers/command/run_watched.hpp"
#include "compilers/command/step.hpp"
#include "compilers/command/temporary_names.hpp"
#include "format/request.hpp"
#include "hearth/libraries.hpp"
#include "watch/source_file.hpp"
#include "watch/tree_record.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace hearth::command {

namespace {

namespace fs = std::filesystem;

// 2: an entry names no files.
constexpr std::uint64_t k_request_version = 2;

// Of a command that is no known compiler. Whatever else it writes, nobody has named.
constexpr std::array k_options_of_any{OptionRow{"-o", Means::output, Form::next},
                                      OptionRow{"--output", Means::output, Form::next}};

std::vector<std::string> whole_environment()
{
    std::vector<std::string> all;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each)
        all.emplace_back(*each);
    return all;
}

// What compilers may ask of the streams, which decides how they say things.
std::string terminals(const std::string& step_of)
{
    std::string text = "streams:";
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        winsize size{};
        const bool has_size = ::isatty(stream) != 0 && ::ioctl(stream, TIOCGWINSZ, &size) == 0;
        text += has_size                               ? fmt::format(" a terminal of {} columns", size.ws_col)
                : is_terminal_of_tree(stream, step_of) ? " a terminal"
                                                       : " no terminal";
    }
    return text;
}

std::string label_of(const Command& command, const Call& call, const Profile& profile)
{
    if (!call.sources.empty() && is_temporary(call.sources.back()))
        return fmt::format("{} {}", profile.name, lasting_part(call.sources.back()));
    return fs::path(call.sources.empty() ? command.words.front() : call.sources.front()).filename().string();
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

}  // namespace

std::string directory_of(const std::string& path)
{
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? std::string{} : slash == 0 ? "/" : path.substr(0, slash);
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

bool is_for_this_machine(const Plan& plan)
{
    return (plan.profile->writes_source && !plan.options.step_of.empty()) || makes_intermediate(plan.call);
}

bool is_terminal(std::string_view streams, int stream)
{
    std::size_t at = 0;
    for (int i = 0; i <= stream && at != std::string_view::npos; ++i)
        at = streams.find("terminal", i == 0 ? 0 : at + 1);
    return at != std::string_view::npos && streams.substr(0, at).ends_with(" a ");
}

Plan make_plan(Cache& cache, const Command& command, const RunOptions& options, const std::string& streams_as)
{
    static const Profile k_any{
        .name = "command", .programs = {}, .options = k_options_of_any, .suffixes = {}, .compiles_always = true};
    Plan plan;
    plan.command = command;
    plan.shown = command.words;
    plan.options = options;
    plan.streams_as = streams_as;
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
    plan.question.label = label_of(command, plan.call, *plan.profile);
    if (past.empty())
        past = plan.call.why_past_the_cache;
    if (past.empty() && options.recorder.empty())
        past = "the recorder is not installed";
    if (past.empty() && !options.step_of.empty() && !can_tell(options.step_of))
        past = "the compiler that it is a step of is in another directory";
    if (plan.call.only_tells || !past.empty())
        return plan;
    std::error_code ignored;
    watch::Places& places = plan.question.places;
    places.working_directory = fs::current_path(ignored).string();
    places.directories = plan.call.directories;
    plan.build = build_of_file(cache, command.words.front());
    KeyBuilder key("command");
    key.number("request version", k_request_version)
        .text("compiler", plan.profile->name)
        .text("program", fs::path(command.words.front()).filename().string())
        .text("compiler build", plan.build)
        // Compilers look for their parts beside themselves.
        .text("program named", (fs::path(places.working_directory) / command.words.front()).string())
        .text("program found", fs::canonical(command.words.front(), ignored).string());
    format::add_words(key, "words", plan.call.words);
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
    else if (plan.call.names_sources)
        key.list("sources", plan.call.sources);
    // The compiler refuses that, or loses it. We do neither.
    for (const std::string& output : plan.call.outputs)
        for (const std::string& source : plan.call.sources)
            if (fs::equivalent(output, source, ignored)) {
                past = fmt::format("its output {} is its source", output);
                return plan;
            }
    // A path that leaves a directory through a link is another file than it reads.
    for (const std::string& output : plan.call.outputs) {
        const fs::path directory = fs::path(places.working_directory) / directory_of(output);
        if (fs::weakly_canonical(directory, ignored) != fs::weakly_canonical(directory.lexically_normal(), ignored)) {
            past = fmt::format("its output {} leads back through a link", output);
            return plan;
        }
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
    const bool takes_maps = plan.profile->takes_prefix_maps;
    if (cache.stable_paths() && !plan.call.paths_matter)
        plan.fixed = takes_maps ? fixed_paths(places) : linked_paths(plan.call, places);
    if (plan.fixed.empty())
        plan.call.paths_matter |= plan.call.has_debug;
    else
        key.list("fixed paths", takes_maps ? names_of(places, plan.fixed) : names_of_links(places, plan.fixed));
    // Compilers colour what they say for a terminal. So that is one of the places whose change counts where it is kept.
    places.directories.push_back(streams_as.empty() ? terminals(options.step_of) : streams_as);
    // Where nothing else depends on places, that is a part of the question.
    if (plan.profile->writes_names)
        key.text("streams", places.directories.back());
    if (!options.step_of.empty() && std::getenv(watch::k_links_variable) != nullptr)
        key.number("has links", 1);
    plan.question.request = key.build();
    plan.question.sections = sections_of(plan.call);
    return plan;
}

}  // namespace hearth::command
