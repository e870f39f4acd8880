// Compilers that are programs: `hearth exec -- nvcc -c k.cu` runs them through the cache.

#include "cache/open_cache.hpp"
#include "hearth/command.hpp"
#include "process/child.hpp"
#include "process/dropin.hpp"
#include "run_log/run_log.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

namespace hearth::cli {

namespace {

namespace fs = std::filesystem;

struct ExecArguments {
    std::vector<std::string> words;
    bool any = false;
    bool verbose = false;
};

// The file that a shell would start; the word itself if there is none.
std::string program_of(const std::string& word)
{
    if (word.find('/') != std::string::npos)
        return word;
    const char* const path = std::getenv("PATH");
    std::string_view folders = path != nullptr ? path : "";
    while (!folders.empty()) {
        const std::string_view folder = folders.substr(0, folders.find(':'));
        folders.remove_prefix(std::min(folders.size(), folder.size() + 1));
        const fs::path file = fs::path(folder) / word;
        std::error_code error;
        if (::access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file, error))
            return file.string();
    }
    return word;
}

int run_exec(const Globals& globals, const ExecArguments& arguments)
{
    command::Command command{arguments.words};
    command.words.front() = program_of(command.words.front());
    const Settings settings = settings_of(globals);
    if (settings.options.caching == Switch::off)
        replace_this_process(command.words);
    const auto start = std::chrono::steady_clock::now();
    Cache cache = open_cache(globals, Use::work);
    const std::string folder = dropin_folder();
    const Result<command::Ran> ran =
        command::run(cache, command,
                     {.recorder = folder.empty() ? "" : folder + "/libhearth_recorder.so",
                      .serves = arguments.any ? command::Serves::anything : command::Serves::compilers,
                      .passes_signals = true});
    if (!ran) {
        if (ran.error().code == Code::not_found)
            replace_this_process(command.words);  // which says so, and ends as a shell would
        if (ran.error().code == Code::compile_forbidden)
            run_log::note({.what = "command",
                           .name = fs::path(command.words.front()).filename().string(),
                           .outcome = "forbidden"});
        fail(ran.error().message);
    }
    run_log::Event event{
        .what = "command", .name = ran->label, .outcome = std::string(to_string(ran->outcome)), .reason = ran->reason};
    event.tier = ran->tier;
    event.key = ran->key;
    event.cost_ms = std::chrono::duration<double, std::milli>(ran->cost).count();
    event.spent_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    run_log::note(event);
    if (arguments.verbose)
        // Whether that can be told or not, the command has ended as it has.
        std::fputs(fmt::format("hearth: {}: {}{}{}, {:.1f} ms\n", ran->label, to_string(ran->outcome),
                               ran->reason.empty() && ran->tier.empty() ? "" : ": ",
                               ran->tier.empty() ? ran->reason : ran->tier, event.spent_ms)
                       .c_str(),
                   stderr);
    if (ran->signal != 0)
        end_as({ran->code, ran->signal});
    return ran->code;
}

}  // namespace

void add_exec(Command& command)
{
    command.describe("Runs a compiler, or gives what it gave before.",
                     "  hearth exec -- nvcc -c kernel.cu -o kernel.o\n"
                     "  hearth exec -- g++ -O2 -c main.cpp -o main.o",
                     "The command is watched the first time: every file that it reads, or looks for and does not "
                     "find, and every\nvariable. As long as all of that is the same, it is not run again.");
    auto& arguments = command.runs(run_exec);
    command.flag("--any", arguments.any, "Also a command that is no known compiler: you say that it only writes files");
    command.flag("--verbose", arguments.verbose, "Tell on standard error whether it was a hit, and why not");
    command.hands_on(arguments.words, "-- COMMAND", "command", "-- nvcc -c kernel.cu -o kernel.o");
}

}  // namespace hearth::cli
