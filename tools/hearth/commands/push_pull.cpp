#include "cache/open_cache.hpp"
#include "cache/selection.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "json/json.hpp"

namespace hearth::cli {

namespace {

enum class Direction : unsigned char { push, pull };

struct PushPullArguments {
    Direction direction = Direction::push;
    Selection selection;
    std::string remote;
    bool json = false;
};

int run(const Globals& globals, const PushPullArguments& arguments)
{
    const Direction direction = arguments.direction;
    Cache cache = open_cache(globals, direction == Direction::push ? Use::read : Use::change, Remotes::yes);
    const Choose choose = chosen_by(arguments.selection);
    const TransferReport report = or_fail(with_progress(
        direction == Direction::push ? "Pushing" : "Pulling", unless(arguments.json), [&](const Progress& progress) {
            return direction == Direction::push ? admin::push(cache, arguments.remote, choose, progress)
                                                : admin::pull(cache, arguments.remote, choose, progress);
        }));
    for (const std::string& problem : report.problems)
        warn(problem);
    if (arguments.json)
        print_json({{"entries", report.entries},
                    {"bytes", report.bytes},
                    {"already_there", report.already_there},
                    {"rejected", report.rejected},
                    {"problems", report.problems}});
    else
        print_out("{} {} ({}); {} there already, {} rejected.\n", direction == Direction::push ? "Pushed" : "Pulled",
                  count_of(report.entries, "entry", "entries"), format_size(report.bytes),
                  count_of(report.already_there, "was", "were"), report.rejected);
    const bool nothing = report.entries + report.already_there == 0;
    return nothing && !arguments.selection.is_everything() ? k_nothing : k_done;
}

void add(Command& command, Direction direction)
{
    auto& arguments = command.runs(run);
    arguments.direction = direction;
    add_selection(command, arguments.selection);
    command.text("--remote", arguments.remote, "The server, by its tier's name (otherwise the first)", "NAME");
    command.json(arguments.json);
}

}  // namespace

void add_push(Command& command)
{
    command.describe("Sends this machine's entries to a server that a fleet shares.",
                     "  HEARTH_REMOTE=redis://cache:6379 hearth push\n"
                     "  hearth push 'gemm*'\n"
                     "  HEARTH_SIGN_WITH=build.key hearth push --remote s3");
    add(command, Direction::push);
}

void add_pull(Command& command)
{
    command.describe("Fetches entries from a server that a fleet shares to this machine's disk.",
                     "  HEARTH_REMOTE=s3://bucket/kernels hearth pull\n"
                     "  hearth pull 'gemm*' --remote redis",
                     "Nothing can be pulled from a plain HTTP server, which cannot list its entries; each is fetched "
                     "when it is used.");
    add(command, Direction::pull);
}

}  // namespace hearth::cli
