#include "cache/open_cache.hpp"
#include "commands/carry_parts.hpp"
#include "hearth/units.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

namespace hearth::cli::carry {

namespace {

void print_transfer(const CarryArguments& arguments, const Wanted& wanted, const Key& capture,
                    const TransferReport& report, std::string_view verb)
{
    if (arguments.json) {
        print_json(
            json_of(wanted, capture,
                    {{"entries", report.entries}, {"bytes", report.bytes}, {"already_there", report.already_there}}));
        return;
    }
    print_out("{} {}: {} ({}); {} there already.\n", verb, printable(wanted.place.name),
              count_of(report.entries, "entry", "entries"), format_size(report.bytes),
              count_of(report.already_there, "was", "were"));
}

int run_push(const Globals& globals, const CarryArguments& arguments)
{
    const std::vector<Wanted> all = wanted_by(arguments);
    Cache cache = open_cache(globals, Use::change, Remotes::yes);
    int code = k_done;
    for (const Wanted& wanted : all) {
        const auto located = or_fail(locate(cache, wanted, Keeper::this_machine, bounds_of(arguments)));
        if (!located || !located->foreign.empty()) {
            complain(located ? is_foreign(wanted.place, *located) : no_capture_of(wanted.place));
            code = k_nothing;
            continue;
        }
        if (const std::vector<Pack> missing = missing_packs(cache, located->capture); !missing.empty())
            fail(describe_missing(*located, missing));
        const TransferReport report = or_fail(
            with_progress("Pushing " + wanted.place.name, unless(arguments.json), [&](const Progress& progress) {
                return push_capture(cache, arguments.remote, wanted, *located, progress);
            }));
        print_transfer(arguments, wanted, located->key, report, "Pushed");
    }
    return code;
}

Adopt adopted_by(const CarryArguments& arguments)
{
    return arguments.newer ? Adopt::newer : arguments.force ? Adopt::also_foreign : Adopt::any;
}

int run_pull(const Globals& globals, const CarryArguments& arguments)
{
    const std::vector<Wanted> all = wanted_by(arguments);
    Cache cache = open_cache(globals, Use::change, Remotes::yes);
    int code = k_done;
    for (const Wanted& wanted : all) {
        const Pulled pulled = or_fail(
            with_progress("Pulling " + wanted.place.name, unless(arguments.json), [&](const Progress& progress) {
                return pull_capture(cache, arguments.remote, wanted, adopted_by(arguments), bounds_of(arguments),
                                    progress);
            }));
        if (pulled.kept_ours)
            continue;
        if (!pulled.located && arguments.newer)
            continue;
        if (!pulled.located) {
            complain(fmt::format("The server has no capture of {}. 'hearth carry push {}' sends one.",
                                 in_quotes(wanted.place.name), printable(wanted.place.name)));
            code = k_nothing;
            continue;
        }
        if (!pulled.located->foreign.empty() && arguments.newer)
            continue;
        if (!pulled.located->foreign.empty() && !arguments.force)
            fail(is_foreign(wanted.place, *pulled.located));
        print_transfer(arguments, wanted, pulled.located->key, pulled.report, "Pulled");
    }
    return code;
}

}  // namespace

void add_push(Command& carry)
{
    Command command = carry.part("push", "Sends captures to a server that a fleet shares",
                                 "  HEARTH_REMOTE=redis://cache:6379 hearth carry push triton\n"
                                 "  hearth carry push vllm inductor --remote s3",
                                 "Only contents that the server lacks are sent. Exit code 1: there is no capture.");
    CarryArguments& arguments = add_common(command, run_push);
    command.text("--remote", arguments.remote, "The server, by its tier's name (otherwise the first)", "NAME");
}

void add_pull(Command& carry)
{
    Command command = carry.part("pull", "Fetches captures from a server into this machine's cache",
                                 "  HEARTH_REMOTE=redis://cache:6379 hearth carry pull triton\n"
                                 "  hearth carry pull triton && hearth carry restore triton",
                                 "Only contents that this machine lacks are fetched; nothing is restored yet. Exit "
                                 "code 1: the server has no capture of that name.");
    CarryArguments& arguments = add_common(command, run_pull);
    command.text("--remote", arguments.remote, "The server, by its tier's name (otherwise the first)", "NAME");
    const Option force = command.flag("--force", arguments.force,
                                      "Fetch a capture of other versions, another target or another path all the same");
    command.flag("--newer", arguments.newer, "Leave this machine's capture in place if it was made later")
        .excludes(force);
}

}  // namespace hearth::cli::carry
