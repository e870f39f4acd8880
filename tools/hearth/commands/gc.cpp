#include "cache/open_cache.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "json/json.hpp"

namespace hearth::cli {

namespace {

struct GcArguments {
    std::optional<std::uint64_t> max_bytes;
    std::optional<std::uint64_t> max_entries;
    std::optional<std::chrono::milliseconds> older_than;
    bool json = false;
};

int run_gc(const Globals& globals, const GcArguments& arguments)
{
    Cache cache = open_cache(globals, Use::change);
    EvictTo options;
    options.max_bytes = arguments.max_bytes;
    options.max_entries = arguments.max_entries;
    if (arguments.older_than)
        options.unused_for = std::chrono::ceil<std::chrono::seconds>(*arguments.older_than);

    const GcReport report = with_progress("Cleaning", unless(arguments.json), [&](const Progress& progress) {
        admin::maintain(cache);  // removes abandoned temporaries and expired entries in any case
        return admin::gc(cache, options, progress);
    });
    if (arguments.json)
        print_json({{"removed_entries", report.removed_entries},
                    {"removed_bytes", report.removed_bytes},
                    {"left_entries", report.left.entries},
                    {"left_bytes", report.left.bytes},
                    {"left_aside_bytes", report.left.aside_bytes}});
    else
        print_out("Removed {} ({}); {} ({}) left.\n", count_of(report.removed_entries, "entry", "entries"),
                  format_size(report.removed_bytes), count_of(report.left.entries, "entry", "entries"),
                  format_size(report.left.bytes));
    if (!arguments.json && report.left.aside_bytes != 0)
        print_out("{} more in quarantine and in folders of older formats, for 30 days at most.\n",
                  format_size(report.left.aside_bytes));
    return k_done;
}

}  // namespace

void add_gc(Command& command)
{
    command.describe("Removes what is expired or abandoned, then the least valuable entries until the limits are met.",
                     "  hearth gc                          to the configured limits\n"
                     "  hearth gc --max-bytes 2G           down to 2 GiB, this once\n"
                     "  hearth gc --older-than 30d         what nobody has used for 30 days");
    auto& arguments = command.runs(run_gc);
    command.size("--max-bytes", arguments.max_bytes, "Keep at most this much, this once: 512MiB, 10G");
    command.count("--max-entries", arguments.max_entries, "Keep at most this many entries, this once");
    command.duration("--older-than", arguments.older_than, "Remove entries that were not used for this long: 12h, 30d");
    command.json(arguments.json);
}

}  // namespace hearth::cli
