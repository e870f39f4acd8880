#include "base/priority.hpp"
#include "build/prewarm_recipes.hpp"
#include "cache/open_cache.hpp"
#include "hearth/admin.hpp"
#include "hearth/bundle.hpp"
#include "hearth/units.hpp"
#include "process/stop_signals.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/times.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace hearth::cli {

namespace {

using Steady = std::chrono::steady_clock;

void print_report(const PrewarmReport& report, const char* source, Steady::duration took)
{
    print_json({{"source", source},
                {"total", report.total},
                {"filled", report.filled},
                {"already_there", report.already_there},
                {"absent", report.absent},
                {"no_room", report.no_room},
                {"refused", report.refused},
                {"bytes", report.bytes},
                {"read_bytes", report.bytes_read},
                {"seconds", std::chrono::duration<double>(took).count()},
                {"problems", report.problems}});
}

int prewarm_from_bundle(const Globals& globals, const PrewarmArguments& arguments)
{
    const auto started = Steady::now();
    const bundles::Facts facts = or_fail(bundles::read(arguments.bundle));
    // Opened as one of the cache's own bundles, so that the same settings decide whether it is trusted.
    Cache cache = open_to_fill(globals, arguments.bundle);
    std::vector<Key> keys;
    const Status listed = bundles::list(arguments.bundle, [&](const EntryRow& row) {
        keys.push_back(row.key);
        return true;
    });
    if (!listed.ok() && keys.empty())
        fail(listed.error().message);
    // A part of the bundle is damaged; the other entries can still be used.
    if (!listed.ok())
        warn(listed.error().message);
    const std::uint64_t lost = facts.entries - std::min<std::uint64_t>(facts.entries, keys.size());
    const TierStatus disk = disk_of(cache);
    const PrewarmReport report =
        wait_for(prewarm(cache, std::move(keys), arguments.options(disk.name)), "Copying", arguments);
    const std::uint64_t rejected = report.refused + report.absent + lost;
    const auto took = Steady::now() - started;
    if (arguments.json)
        print_report(report, "bundle", took);
    else
        print_out("Copied {} ({}); {} there already, {} rejected; {}.\n", count_of(report.filled, "entry", "entries"),
                  format_size(report.bytes), count_of(report.already_there, "was", "were"), rejected,
                  show_duration(took));
    warn_of(report);
    if (report.no_room != 0)
        complain(fmt::format("{} left out: there is no more room {}",
                             count_of(report.no_room, "entry was", "entries were"), how_to_make_room(disk, arguments)));
    return report.no_room + rejected == 0 && listed.ok() ? k_done : k_nothing;
}

// The most used entries on the disk, as many as --max-size allows.
std::vector<Key> hottest_on(const TierStatus& disk, Cache& cache, const PrewarmArguments& arguments)
{
    std::vector<Key> keys;
    std::uint64_t bytes = 0;
    for (const EntryRow& row : admin::hottest(cache, *arguments.top)) {
        if (row.tier != disk.name)
            continue;
        bytes += row.stored_bytes;
        if (arguments.max_size && bytes > *arguments.max_size)
            break;
        keys.push_back(row.key);
    }
    return keys;
}

int prewarm_top(const Globals& globals, const PrewarmArguments& arguments)
{
    const auto started = Steady::now();
    Cache cache = open_cache(globals, Use::look);
    const TierStatus disk = disk_of(cache);
    std::vector<Key> keys = hottest_on(disk, cache, arguments);
    if (keys.empty()) {
        complain(arguments.max_size && disk.usage.entries != 0
                     ? "There is nothing to read: the most used entry is larger than --max-size."
                     : "There is nothing to read: the cache is empty.");
        return k_nothing;
    }
    // An entry that the tier already has is read and checked, which is the purpose here.
    const PrewarmReport report =
        wait_for(prewarm(cache, std::move(keys), arguments.options(disk.name)), "Reading", arguments);
    const auto took = Steady::now() - started;
    if (arguments.json)
        print_report(report, "top", took);
    else
        print_out("Read {} ({}); {} damaged; {}.\n", count_of(report.already_there, "entry", "entries"),
                  format_size(report.bytes_read), report.refused, show_duration(took));
    warn_of(report);
    if (report.refused != 0)
        complain("'hearth verify --repair' removes what is damaged.");
    return report.refused == 0 ? k_done : k_nothing;
}

int run_prewarm(const Globals& globals, const PrewarmArguments& arguments)
{
    if (arguments.recipes.empty() && arguments.bundle.empty() && !arguments.top)
        fail_usage("Say what to prewarm: --recipes FILE, --bundle FILE or --top N. 'hearth prewarm --help' explains "
                   "each.");
    base::step_back();
    const StopSignals signals;  // made first: scratch folders are removed before signals take effect again
    if (!arguments.recipes.empty())
        return prewarm_from_recipes(globals, arguments);
    return arguments.top ? prewarm_top(globals, arguments) : prewarm_from_bundle(globals, arguments);
}

}  // namespace

void add_prewarm(Command& command)
{
    command.describe(
        "Brings what a program will ask for to this machine's disk or page cache, before it asks.",
        "  hearth prewarm --recipes app.recipes           before the program starts: it will miss nothing\n"
        "  hearth prewarm --bundle /nfs/app.bundle --rate 50MB\n"
        "  hearth prewarm --top 200                       read what is used most into the page cache",
        "It uses processor and disk only while nothing else needs them (nice 19, I/O class idle), and it never evicts "
        "an entry. Exit code 1: something could not be fetched or compiled, or there was no room for it; 4: the "
        "compiler found an error.");
    auto& arguments = command.runs(run_prewarm);
    const Option recipes =
        command.text("--recipes", arguments.recipes,
                     "Bring every recorded kernel, the earliest used first: fetch it from servers (HEARTH_REMOTE) and "
                     "bundles (HEARTH_BUNDLES) if they have it, otherwise compile it",
                     "FILE");
    const Option bundle = command.text("--bundle", arguments.bundle,
                                       "Copy every entry of a bundle, for example one on a slow file system", "FILE");
    const Option top = command.count("--top", arguments.top, "Read and verify the N most used entries of this machine");
    recipes.excludes(bundle).excludes(top);
    bundle.excludes(top);
    command.size("--rate", arguments.rate, "Read at most this much per second, such as 50MB (otherwise no limit)");
    command.size("--max-size", arguments.max_size, "Stop after this much (otherwise when the cache is full)");
    command.count("--jobs", arguments.jobs, "Compile in this many processes at once (otherwise one per core)")
        .needs(recipes);
    command.flag("--no-compile", arguments.no_compile, "Only fetch; leave out what no server or bundle has")
        .needs(recipes);
    command.json(arguments.json);
}

}  // namespace hearth::cli
