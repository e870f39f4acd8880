#include "process/found_runs.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth::cli {

namespace {

struct ReadyArguments {
    std::optional<std::uint64_t> pid;
    bool all = false;
    bool json = false;
};

std::string pids_of(const std::vector<FoundRun>& runs)
{
    std::vector<int> pids;
    pids.reserve(runs.size());
    for (const FoundRun& run : runs)
        pids.push_back(run.pid);
    return fmt::format("{}", fmt::join(pids, ", "));
}

std::vector<FoundRun> wanted_runs(const ReadyArguments& arguments)
{
    if (arguments.pid) {
        const int pid = static_cast<int>(std::min<std::uint64_t>(*arguments.pid, INT_MAX));
        std::optional<FoundRun> run = run_of(pid);
        if (!run)
            fail(fmt::format("Process {} is not of a 'hearth run', or belongs to another user. Start its program with "
                             "'hearth run -- COMMAND', or have it call hearth::ready().",
                             pid));
        return {*std::move(run)};
    }
    std::vector<FoundRun> runs = find_runs();
    // Within a run, that one is meant.
    if (const auto mine = base::ReadyMark::of_this_run(); mine && !arguments.all) {
        if (mine->state() == base::ReadyMark::State::lost)
            fail(fmt::format("The run that this is part of has ended, or has closed its descriptors: all its compiles "
                             "are late. To mark others, unset {} or say --all.",
                             base::k_ready_variable));
        std::erase_if(runs, [&](const FoundRun& run) { return run.mark.text() != mine->text(); });
    }
    if (runs.empty())
        fail(
            "There is no 'hearth run' of this user on this machine. Start the program with 'hearth run -- COMMAND', or "
            "have it call hearth::ready().");
    if (runs.size() > 1 && !arguments.all)
        fail(fmt::format("There are {} runs (processes {}). Say which one with --pid PID, or mark all with --all.",
                         runs.size(), pids_of(runs)));
    return runs;
}

int run_ready(const Globals& /*globals*/, const ReadyArguments& arguments)
{
    const std::vector<FoundRun> runs = wanted_runs(arguments);
    for (const FoundRun& run : runs) {
        if (!run.mark.seal(run.process()))
            fail(fmt::format("The run of process {} cannot be marked: {}. It goes on as before.", run.pid,
                             system_error(errno)));
    }
    if (arguments.json)
        print_json({{"runs", Json::array_of(runs, [](const FoundRun& run) {
                         return Json{{"pid", run.pid}, {"file", run.mark.path_in(run.process())}};
                     })}});
    else
        print_out("Ready: {} (process {}). Compiles are counted as late from here on.\n",
                  count_of(runs.size(), "run", "runs"), pids_of(runs));
    return k_done;
}

}  // namespace

void add_ready(Command& command)
{
    command.describe(
        "Says that a program under 'hearth run' has started up: what it compiles from here on comes late.",
        "  hearth ready                      the one run on this machine, or the run that this is part of\n"
        "  hearth ready --pid 4711           the run that this process belongs to\n"
        "  hearth run --forbid-compile=after-ready -- ./server",
        "Late compiles are counted ('hearth stats', compiles_after_ready), told in --summary and --log, and "
        "with\n--forbid-compile=after-ready refused. A program may call hearth::ready(), hearth_ready() or "
        "hearth.ready() itself.");
    auto& arguments = command.runs(run_ready);
    const Option pid = command.count("--pid", arguments.pid, "The run that this process is part of");
    command.flag("--all", arguments.all, "Every run of this user on this machine").excludes(pid);
    command.json(arguments.json);
}

}  // namespace hearth::cli
