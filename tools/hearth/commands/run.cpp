#include "cache/open_cache.hpp"
#include "hearth/recipes.hpp"
#include "process/child.hpp"
#include "process/dropin.hpp"
#include "process/run_summary.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <unistd.h>

namespace hearth::cli {

namespace {

namespace fs = std::filesystem;

struct RunArguments {
    std::vector<std::string> command;
    std::string record;
    std::string ptxas;
    bool summary = false;
    bool json = false;
    bool forbid = false;
};

void set(const char* name, const std::string& value)
{
    ::setenv(name, value.c_str(), 1);
}

// Settings that name files, several with blanks between: the command may go to another directory.
void make_absolute(const char* name, bool must_exist)
{
    const char* const value = std::getenv(name);
    if (value == nullptr)
        return;
    std::string all;
    std::istringstream words(value);
    for (std::string word; words >> word;) {
        std::error_code error;
        const bool stays = word.front() == '/' || word.front() == '~' || (must_exist && !fs::exists(word, error));
        all += (all.empty() ? "" : " ") + (stays ? word : fs::absolute(word).string());
    }
    set(name, all);
}

// A program that cannot be recorded would be found out when it has run for hours.
void check_record(const std::string& path)
{
    if (const Status recordable = recipes::check_recordable(path); !recordable.ok())
        fail(recordable.error().message);
}

void check_ptxas(const std::string& path)
{
    std::error_code error;
    if (!fs::is_regular_file(path, error) || ::access(path.c_str(), X_OK) != 0)
        fail(fmt::format("--ptxas {} is no program that can be run. Name the ptxas that Triton brings: "
                         "backends/nvidia/bin/ptxas in its package.",
                         in_quotes(path)));
}

// For the command and its children. A path is made absolute: they may go to another directory.
void prepare_environment(const Globals& globals, const RunArguments& arguments)
{
    for (const char* name : {"HEARTH_DIR", "HEARTH_RECORD"})
        make_absolute(name, false);
    for (const char* name : {"HEARTH_BUNDLES", "HEARTH_CONFIG", "HEARTH_NVRTC", "HEARTH_NVJITLINK", "HEARTH_PTXAS",
                             "HEARTH_SIGN_WITH", "HEARTH_TRUSTED_KEYS"})
        make_absolute(name, true);
    if (globals.directory)
        set("HEARTH_DIR", fs::absolute(*globals.directory).string());
    if (arguments.forbid)
        set("HEARTH_FORBID_COMPILE", "1");
    if (!arguments.ptxas.empty()) {
        // Triton asks this variable, and would otherwise start a ptxas of its own.
        set("HEARTH_PTXAS", fs::absolute(arguments.ptxas).string());
        set("TRITON_PTXAS_PATH", dropin_folder() + "/ptxas");
    }
    if (!arguments.record.empty())
        set("HEARTH_RECORD", fs::absolute(arguments.record).string());
}

int run_run(const Globals& globals, const RunArguments& arguments)
{
    if (arguments.command.empty())
        fail_usage("Which command? As in: hearth run -- python train.py");
    if (settings_of(globals).options.caching == Switch::off) {
        if (arguments.json)
            std::fputs("{\"disabled\":true}\n", stderr);
        else if (arguments.summary)
            std::fputs("hearth: turned off (HEARTH_DISABLE, or \"disabled\" in the configuration)\n", stderr);
        replace_this_process(arguments.command);
    }
    if (const std::string problem = serve_children(); !problem.empty()) {
        complain(problem + " The command runs without Hearth.");
        replace_this_process(arguments.command);
    }
    if (!arguments.record.empty())
        check_record(arguments.record);
    if (!arguments.ptxas.empty())
        check_ptxas(arguments.ptxas);
    prepare_environment(globals, arguments);
    if (!arguments.summary && !arguments.json)
        replace_this_process(arguments.command);

    Result<RunLog> log = RunLog::make();
    if (!log) {
        complain(log.error().message + " The command runs without a summary.");
        replace_this_process(arguments.command);
    }
    set("HEARTH_RUN_LOG", log->path());
    const ChildEnd end = run_in_foreground(arguments.command);
    const RunSummary summary = log->read();
    // To standard error: standard output is the command's.
    const std::string text = arguments.json ? summary.as_json() : summary.as_text();
    std::fwrite(text.data(), 1, text.size(), stderr);
    log->remove();
    end_as(end);
}

}  // namespace

void add_run(Command& command)
{
    command.describe(
        "Runs a program whose NVRTC compiles come from the cache, without changing it.",
        "  hearth run -- python train.py\n"
        "  hearth run --summary -- ./simulation --steps 100\n"
        "  hearth run --forbid-compile -- ./server       a miss is an error, not a stall\n"
        "  hearth run --record kernels.recipes -- python serve.py",
        "Exit status, signals and standard streams are the program's own. Programs that are linked with NVRTC\n"
        "statically cannot be served: 'hearth doctor --program FILE' tells. HEARTH_DISABLE=1 turns it off.");
    auto& arguments = command.runs(run_run);
    command.flag("--summary", arguments.summary, "At the end, say what were hits and what they saved");
    command.json(arguments.json, "The summary as JSON, on standard error");
    command.flag("--forbid-compile", arguments.forbid, "Fail where something would have to be compiled");
    command.text("--record", arguments.record, "Write down what is compiled, for 'hearth build'", "FILE");
    command.text("--ptxas", arguments.ptxas,
                 "Answer Triton's calls of ptxas too; FILE is its own: backends/nvidia/bin/ptxas in its package",
                 "FILE");
    command.hands_on(arguments.command, "command", "-- python train.py");
}

}  // namespace hearth::cli
