#include "base/ready_mark.hpp"
#include "base/text.hpp"
#include "cache/open_cache.hpp"
#include "carry/around_run.hpp"
#include "hearth/command.hpp"
#include "hearth/recipes.hpp"
#include "process/child.hpp"
#include "process/dropin.hpp"
#include "process/frameworks.hpp"
#include "process/run_summary.hpp"
#include "run_log/run_log.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

namespace hearth::cli {

namespace {

namespace fs = std::filesystem;

struct RunArguments {
    std::vector<std::string> command;
    std::string record;
    std::string log;
    bool summary = false;
    bool json = false;
    std::string forbid;  // empty: compiling is allowed
    bool no_processes = false;
    bool no_frameworks = false;
    bool no_triton = false;
    bool no_inductor = false;
    bool no_jax = false;
    std::vector<std::string> carry;
    std::optional<std::chrono::milliseconds> carry_limit;
};

constexpr const char* k_after_ready = "after-ready";

void set(const char* name, const std::string& value)
{
    ::setenv(name, value.c_str(), 1);
}

// Where it leads from here: the command may change its directory.
std::string from_here(std::string_view path)
{
    return fs::absolute(path).string();
}

bool exists(std::string_view path)
{
    std::error_code error;
    return fs::exists(path, error);
}

void make_path_absolute(const char* name, bool (*is_path)(std::string_view))
{
    if (const char* const value = std::getenv(name); value != nullptr && is_path(value))
        set(name, from_here(value));
}

// A path with blanks would be several in a list, so there it stays as it is.
void make_list_absolute(const char* name)
{
    const char* const value = std::getenv(name);
    if (value == nullptr)
        return;
    std::string all;
    for (const std::string_view word : base::words_of(value)) {
        const std::string whole = exists(word) ? from_here(word) : std::string(word);
        all.append(all.empty() ? "" : " ").append(base::words_of(whole).size() == 1 ? whole : word);
    }
    set(name, all);
}

// Otherwise a file that cannot be written would be noticed only after the program has run for hours.
void check_record(const std::string& path)
{
    if (const Status recordable = recipes::check_recordable(path); !recordable.ok())
        fail(recordable.error().message);
}

// For the command and its children. Paths become absolute, since they may change their directory.
void prepare_environment(const Globals& globals, const RunArguments& arguments)
{
    make_path_absolute("HEARTH_DIR", [](std::string_view text) { return !text.empty(); });
    make_path_absolute("HEARTH_RECORD", [](std::string_view text) { return !text.empty() && text != "none"; });
    for (const char* name : {"HEARTH_CONFIG", "HEARTH_NVRTC", "HEARTH_NVJITLINK", "HEARTH_NVVM", "HEARTH_SIGN_WITH"})
        make_path_absolute(name, exists);
    for (const char* name : {"HEARTH_BUNDLES", "HEARTH_TRUSTED_KEYS"})
        make_list_absolute(name);
    if (globals.directory)
        set("HEARTH_DIR", fs::absolute(*globals.directory).string());
    if (!arguments.forbid.empty())
        set("HEARTH_FORBID_COMPILE", arguments.forbid == k_after_ready ? k_after_ready : "1");
    if (!arguments.record.empty())
        set("HEARTH_RECORD", fs::absolute(arguments.record).string());
}

// So that its processes know when it is ready. A run within a run gets ready with it, also where it cannot see when.
void prepare_ready(const Globals& globals, const RunArguments& arguments)
{
    const bool forbids =
        arguments.forbid == k_after_ready || settings_of(globals).options.compiling == Compiling::forbidden_after_ready;
    if (const auto outer = base::ReadyMark::of_this_run()) {
        const bool is_lost = outer->state() == base::ReadyMark::State::lost;
        if (is_lost && arguments.forbid == k_after_ready)
            fail(fmt::format("The run that this is part of has ended, or has closed its descriptors, so nothing may be "
                             "compiled. For a run of its own, unset {}.",
                             base::k_ready_variable));
        if (!is_lost || forbids)
            return;
    }
    const auto mark = base::ReadyMark::make();
    if (!mark && forbids)
        fail(fmt::format("Nobody could say that this run is ready: the system gives no file in memory ({}). Start it "
                         "without --forbid-compile=after-ready, and with HEARTH_FORBID_COMPILE=0.",
                         system_error(errno)));
    set(base::k_ready_variable, mark ? mark->text() : "");
}

void prepare_frameworks(const RunArguments& arguments)
{
    if (arguments.no_frameworks) {
        serve_no_frameworks();
        return;
    }
    std::vector<std::string> without;
    for (const auto& [is_left_out, name] :
         {std::pair{arguments.no_triton, "triton"}, std::pair{arguments.no_inductor, "inductor"},
          std::pair{arguments.no_jax, "jax"}})
        if (is_left_out)
            without.emplace_back(name);
    serve_frameworks(without);
}

carry::AroundRun carried(const RunArguments& arguments)
{
    static constexpr std::chrono::seconds k_limit(30);
    return {arguments.carry, arguments.command.front(), arguments.carry_limit.value_or(k_limit)};
}

// When there is nothing to tell at the end.
[[noreturn]] void run_to_the_end(const Globals& globals, const RunArguments& arguments, const carry::AroundRun& carried)
{
    if (carried.names.empty())
        replace_this_process(arguments.command);
    const ChildEnd end = run_in_foreground(arguments.command);
    carry::capture_after(globals, carried);
    end_as(end);
}

int run_run(const Globals& globals, const RunArguments& given)
{
    RunArguments arguments = given;
    // A compiler is met where another program starts it, and this one is none of those that are served.
    if (!arguments.no_processes && !arguments.command.empty() && command::is_compiler(arguments.command.front()))
        arguments.command.insert(arguments.command.begin(), "/usr/bin/env");
    if (arguments.command.empty())
        fail_usage("No command was given. Write it after --, as in: hearth run -- python train.py");
    if (settings_of(globals).options.caching == Switch::off) {
        if (arguments.json)
            std::fputs("{\"disabled\":true}\n", stderr);
        else if (arguments.summary)
            std::fputs("hearth: turned off (HEARTH_DISABLE, or \"disabled\" in the configuration)\n", stderr);
        replace_this_process(arguments.command);
    }
    if (const std::string problem = serve_children(!arguments.no_processes); !problem.empty()) {
        complain(problem + " The command runs without Hearth.");
        replace_this_process(arguments.command);
    }
    if (!arguments.record.empty())
        check_record(arguments.record);
    prepare_environment(globals, arguments);
    prepare_ready(globals, arguments);
    prepare_frameworks(arguments);
    const bool keeps_log = !arguments.log.empty();
    const bool tells = arguments.summary || arguments.json;
    const carry::AroundRun around = carry::restore_before(globals, carried(given));
    if (!keeps_log && !tells)
        run_to_the_end(globals, arguments, around);

    Result<RunLog> log = keeps_log ? RunLog::make(fs::absolute(arguments.log)) : RunLog::make();
    if (!log && keeps_log)
        fail(log.error().message);
    if (log && tells && !fs::is_regular_file(log->path()))
        fail(fmt::format("{} is no file that could be read for the summary. Name a file with --log, or leave --summary "
                         "and --json out.",
                         in_quotes(arguments.log)));
    if (!log) {
        complain(log.error().message + " The command runs without a summary.");
        run_to_the_end(globals, arguments, around);
    }
    set("HEARTH_RUN_LOG", log->path());
    if (const std::string why = arguments.no_frameworks ? "" : why_no_frameworks(given.command); !why.empty())
        run_log::note({.what = "frameworks", .outcome = "warning", .reason = why});
    if (!tells)
        run_to_the_end(globals, arguments, around);
    const ChildEnd end = run_in_foreground(arguments.command);
    const RunSummary summary = log->read();
    // Standard output belongs to the command.
    const std::string text = arguments.json ? summary.as_json() : summary.as_text();
    std::fwrite(text.data(), 1, text.size(), stderr);
    log->remove();
    carry::capture_after(globals, around);
    end_as(end);
}

}  // namespace

void add_run(Command& command)
{
    command.describe(
        "Runs a program, unchanged, with what it compiles served from the cache.",
        "  hearth run -- python train.py\n"
        "  hearth run --summary -- ./simulation --steps 100\n"
        "  hearth run -- pip install ./extension          nvcc and g++ are served too\n"
        "  hearth run --forbid-compile -- ./server       a miss is an error, not a stall\n"
        "  hearth run --forbid-compile=after-ready -- ./server    the same once 'hearth ready' was called\n"
        "  hearth run --record kernels.recipes -- python serve.py\n"
        "  hearth run --carry vllm,triton -- vllm serve model",
        "Served are NVRTC, nvJitLink and libNVVM, which a program loads, the compilers that it or its children start "
        "(nvcc,\n"
        "ptxas, gcc, clang), and in Python programs Triton, torch.compile and JAX. Exit status, signals and standard "
        "streams are the program's own. Programs that are "
        "statically linked with\n"
        "NVRTC cannot be served; 'hearth doctor --program FILE' tells whether one can. HEARTH_DISABLE=1 turns Hearth "
        "off.");
    auto& arguments = command.runs(run_run);
    command.flag("--summary", arguments.summary, "At the end, print the hits and what they saved");
    command.json(arguments.json, "Print the summary as JSON, on standard error");
    command.flag("--forbid-compile", arguments.forbid, k_after_ready,
                 "Fail if something would have to be compiled; =after-ready: only once 'hearth ready' was called");
    command.text("--record", arguments.record, "Record what is compiled, for 'hearth build'", "FILE");
    command.text("--log", arguments.log, "Note each compile in FILE: a line of JSON with key, bytes, cost and outcome",
                 "FILE");
    command.flag("--no-processes", arguments.no_processes,
                 "Leave the compilers that the program starts (nvcc, ptxas, g++, ...) alone");
    command.flag("--no-frameworks", arguments.no_frameworks,
                 "Leave the frameworks of Python programs (Triton, torch.compile, JAX) alone");
    command.flag("--no-triton", arguments.no_triton, "Leave Triton alone");
    command.flag("--no-inductor", arguments.no_inductor, "Leave torch.compile alone");
    command.flag("--no-jax", arguments.no_jax, "Leave JAX alone");
    command.repeated("--carry", arguments.carry, Commas::separate,
                     "Restore these tools' cache directories first, and capture them afterwards in the background",
                     "NAMES");
    command.duration("--carry-limit", arguments.carry_limit,
                     "How long the program waits for its directories at most (otherwise 30s)");
    command.hands_on(arguments.command, "-- COMMAND", "command", "-- python train.py");
}

}  // namespace hearth::cli
