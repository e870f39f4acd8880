// Compilers that are programs: `hearth exec -- nvcc -c k.cu` runs them through the cache.

#include "base/secrets.hpp"
#include "base/text.hpp"
#include "cache/explanation.hpp"
#include "cache/open_cache.hpp"
#include "hearth/command.hpp"
#include "process/child.hpp"
#include "process/dropin.hpp"
#include "run_log/run_log.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

namespace hearth::cli {

namespace {

namespace fs = std::filesystem;

constexpr int k_not_found = 127;  // as a shell says it

struct ExecArguments {
    std::vector<std::string> words;
    bool any = false;
    bool verbose = false;
    bool why = false;
    bool json = false;
    bool step = false;
};

// Takes it out of the environment, too.
std::string taken_variable(const char* name)
{
    const char* const value = std::getenv(name);
    std::string text = value != nullptr ? value : "";
    ::unsetenv(name);
    return text;
}

// The file that a shell would start; the word itself if there is none. A link to this command stands for the compiler
// that it is named after: the next one on the path, or that of the CUDA toolkit.
std::string program_of(const std::string& word)
{
    std::error_code none;
    const fs::path ours = fs::read_symlink("/proc/self/exe", none);
    const auto is_ours = [&](const fs::path& file) { return fs::equivalent(file, ours, none); };
    if (word.find('/') != std::string::npos && !is_ours(word))
        return word;
    std::string name = fs::path(word).filename().string();
    std::vector<fs::path> folders;
    const char* const path = std::getenv("PATH");
    for (std::string_view rest = path != nullptr ? path : ""; !rest.empty();)
        folders.emplace_back(base::take_until(':', rest));
    for (const char* home : {"CUDA_HOME", "CUDA_PATH"})
        if (const char* const folder = std::getenv(home); folder != nullptr && *folder != '\0')
            folders.push_back(fs::path(folder) / "bin");
    folders.emplace_back("/usr/local/cuda/bin");
    for (const fs::path& folder : folders) {
        const fs::path file = folder / name;
        if (::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, none) && !is_ours(file))
            return file.string();
    }
    return name;
}

int run_exec(const Globals& globals, const ExecArguments& arguments)
{
    if (arguments.words.empty())
        fail_usage("No command was given. Write it after --, as in: hearth exec -- nvcc -c kernel.cu -o kernel.o");
    command::Command command{arguments.words};
    command.words.front() = program_of(command.words.front());
    // A search would find a link to this command again.
    if (command.words.front().find('/') == std::string::npos) {
        complain(
            fmt::format("{} was not found. Install it, or name it by its path.", in_quotes(command.words.front())));
        return k_not_found;
    }
    // What a compiler says is read by its caller. What is wrong with the cache is in the summary of 'hearth run'.
    const bool quiet = !arguments.verbose && !arguments.why;
    if (quiet)
        ::setenv("HEARTH_QUIET", "1", 0);
    if (globals.directory)
        ::setenv("HEARTH_DIR", fs::absolute(*globals.directory).c_str(), 1);  // steps are to use it too
    const Settings settings = settings_of(globals, quiet ? Tell::nothing : Tell::problems);
    if (settings.options.caching == Switch::off && !arguments.why)
        replace_this_process(command.words);
    const auto start = std::chrono::steady_clock::now();
    Cache cache = open_cache(globals, arguments.why ? Use::look : arguments.verbose ? Use::work : Use::quiet);
    const std::string folder = dropin_folder();
    ::unsetenv("HEARTH_STEPS");  // of the command that this is a step of
    std::error_code none;
    const command::RunOptions options{.recorder = folder.empty() ? "" : folder + "/libhearth_recorder.so",
                                      .serves = arguments.any ? command::Serves::anything : command::Serves::compilers,
                                      .steps_by = fs::read_symlink("/proc/self/exe", none).string(),
                                      .step_of = arguments.step ? taken_variable("HEARTH_TREE_LOG") : "",
                                      .passes_signals = true};
    if (arguments.why) {
        const Explanation why = or_fail(command::explain(cache, command, options));
        return arguments.json ? tell_why_as_json(cache, why, {{"command", base::without_secrets(command.words)}})
                              : tell_why(cache, why);
    }
    const Result<command::Ran> ran = command::run(cache, command, options);
    if (!ran) {
        if (ran.error().code == Code::not_found)
            replace_this_process(command.words);  // which says so, and ends as a shell would
        if (ran.error().code == Code::compile_forbidden)
            run_log::note({.what = "command",
                           .name = fs::path(command.words.front()).filename().string(),
                           .outcome = "forbidden"});
        fail(ran.error().message);
    }
    if (!ran->compiles && ran->signal == 0)
        return ran->code;
    run_log::Event event{.what = arguments.step ? "step" : "command",
                         .name = ran->label,
                         .outcome = std::string(to_string(ran->outcome)),
                         .reason = ran->reason};
    event.tier = ran->tier;
    event.key = ran->key;
    event.cost_ms = std::chrono::duration<double, std::milli>(ran->cost).count();
    event.spent_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    run_log::note(event);
    if (arguments.verbose) {
        std::string_view more = ran->tier.empty() ? ran->reason : ran->tier;
        if (more.ends_with('.'))
            more.remove_suffix(1);
        // Whether that can be told or not, the command has ended as it has.
        std::fputs(fmt::format("hearth: {}: {}{}{}, {:.1f} ms\n", ran->label, to_string(ran->outcome),
                               more.empty() ? "" : ": ", more, event.spent_ms)
                       .c_str(),
                   stderr);
    }
    if (ran->signal != 0)
        end_as({ran->code, ran->signal});
    return ran->code;
}

}  // namespace

void add_exec(Command& command)
{
    command.describe("Runs a compiler, or gives what it gave before.",
                     "  hearth exec -- nvcc -c kernel.cu -o kernel.o\n"
                     "  hearth exec -- g++ -O2 -c main.cpp -o main.o\n"
                     "  hearth nvcc -c kernel.cu -o kernel.o          the same, shorter\n"
                     "  cmake -DCMAKE_CUDA_COMPILER_LAUNCHER=hearth -DCMAKE_CXX_COMPILER_LAUNCHER=hearth ...\n"
                     "  ln -s $(which hearth) ~/bin/nvcc              a link named after a compiler stands for it",
                     "The command is watched the first time: every file that it reads, or looks for and does not "
                     "find, and every\nvariable. As long as all of that is the same, it is not run again.\n"
                     "'hearth run' does this for every compiler that a program starts.");
    auto& arguments = command.runs(run_exec);
    command.flag(
        "--any", arguments.any,
        "Also a command that is no known compiler: you say that it only writes FILE of -o FILE or --output FILE");
    command.flag("--verbose", arguments.verbose, "Tell on standard error whether it was a hit, and why not");
    command.flag("--why", arguments.why, "Do not run it: say whether it would be a hit, and what is different if not");
    command.flag("--step", arguments.step, "It is started by a command that is watched (HEARTH_TREE_LOG)").hide();
    command.json(arguments.json, "With --why: as JSON");
    command.hands_on(arguments.words, "-- COMMAND", "command", "-- nvcc -c kernel.cu -o kernel.o");
}

}  // namespace hearth::cli
