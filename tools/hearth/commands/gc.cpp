#include "cache/compilers.hpp"
#include "cache/open_cache.hpp"
#include "cache/rows.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <algorithm>
#include <unordered_set>

namespace hearth::cli {

namespace {

struct GcArguments {
    std::optional<std::uint64_t> max_bytes;
    std::optional<std::uint64_t> max_entries;
    std::optional<std::chrono::milliseconds> older_than;
    std::optional<std::chrono::milliseconds> gone_compilers;
    bool dry_run = false;
    bool json = false;
};

// What is removed, or would be.
struct Collected {
    GcReport report;
    std::vector<CompilerEntries> compilers;
    std::vector<std::pair<EntryRow, std::string_view>> entries;  // and why; only of a dry run
};

EvictTo goal_of(const GcArguments& arguments)
{
    EvictTo goal{.max_bytes = arguments.max_bytes, .max_entries = arguments.max_entries};
    if (arguments.older_than)
        goal.unused_for = std::chrono::ceil<std::chrono::seconds>(*arguments.older_than);
    return goal;
}

std::vector<CompilerEntries> gone(Cache& cache, const GcArguments& arguments)
{
    return arguments.gone_compilers ? gone_compilers(cache, *arguments.gone_compilers) : std::vector<CompilerEntries>{};
}

Collected collect(Cache& cache, const GcArguments& arguments, const Progress& progress)
{
    Collected collected;
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
    collected.compilers = gone(cache, arguments);
    for (const CompilerEntries& compiler : collected.compilers)
        for (const EntryRow& row : compiler.entries) {
            if (!progress(entries, 0))
                return collected;
            if (cache.remove(row.key, Reach::this_machine)) {
                ++entries;
                bytes += row.stored_bytes;
            }
        }
    collected.report = admin::gc(cache, goal_of(arguments), progress);
    collected.report.removed_entries += entries;
    collected.report.removed_bytes += bytes;
    return collected;
}

Collected would_collect(Cache& cache, const GcArguments& arguments)
{
    Collected collected;
    std::unordered_set<Key> seen;
    GcReport& report = collected.report;
    report.left = disk_of(cache).usage;
    const auto add = [&](const EntryRow& row, std::string_view why) {
        if (!seen.insert(row.key).second)
            return;
        collected.entries.emplace_back(row, why);
        ++report.removed_entries;
        report.removed_bytes += row.stored_bytes;
        report.left.entries -= std::min<std::uint64_t>(report.left.entries, 1);
        report.left.bytes -= std::min(report.left.bytes, row.stored_bytes);
    };
    for (const GcCandidate& candidate : admin::would_gc(cache, goal_of(arguments)))
        add(candidate.entry, to_string(candidate.why));
    collected.compilers = gone(cache, arguments);
    for (const CompilerEntries& compiler : collected.compilers)
        for (const EntryRow& row : compiler.entries)
            add(row, "compiler gone");
    return collected;
}

void print_as_json(const Collected& collected, bool dry)
{
    const GcReport& report = collected.report;
    print_json({{"removed_entries", dry ? 0 : report.removed_entries},
                {"removed_bytes", dry ? 0 : report.removed_bytes},
                {"matched_entries", report.removed_entries},
                {"matched_bytes", report.removed_bytes},
                {"left_entries", report.left.entries},
                {"left_bytes", report.left.bytes},
                {"left_aside_bytes", report.left.aside_bytes},
                {"dry_run", dry},
                {"gone_compilers", Json::array_of(collected.compilers, compiler_as_json)},
                {"entries", Json::array_of(collected.entries, [](const auto& entry) -> Json {
                     const auto& [row, why] = entry;
                     return {{"key", row.key.hex()},
                             {"label", row.metadata.label},
                             {"stored_bytes", row.stored_bytes},
                             {"why", why}};
                 })}});
}

void print_for_people(const Collected& collected, bool dry)
{
    if (!collected.entries.empty()) {
        Table table({{"KEY"}, {"SIZE", Align::right}, {"WHY"}, {"LABEL"}});
        for (const auto& [row, why] : collected.entries)
            table.add(
                {short_key(row.key), format_size(row.stored_bytes), std::string(why), printable(row.metadata.label)});
        table.print();
        print_out("\n");
    }
    if (!collected.compilers.empty()) {
        print_compilers(collected.compilers);
        print_out("\n");
    }
    const GcReport& report = collected.report;
    print_out("{} {} ({}); {} ({}) {}.\n", dry ? "Would remove" : "Removed",
              count_of(report.removed_entries, "entry", "entries"), format_size(report.removed_bytes),
              count_of(report.left.entries, "entry", "entries"), format_size(report.left.bytes),
              dry ? "would be left" : "left");
    if (report.left.aside_bytes != 0)
        print_out("{} more in quarantine and in folders of older formats, for 30 days at most.\n",
                  format_size(report.left.aside_bytes));
}

int run_gc(const Globals& globals, const GcArguments& arguments)
{
    Cache cache = open_cache(globals, Use::change);
    const Collected collected = arguments.dry_run
                                    ? would_collect(cache, arguments)
                                    : with_progress("Cleaning", unless(arguments.json), [&](const Progress& progress) {
                                          return collect(cache, arguments, progress);
                                      });
    if (arguments.json)
        print_as_json(collected, arguments.dry_run);
    else
        print_for_people(collected, arguments.dry_run);
    return k_done;
}

}  // namespace

void add_gc(Command& command)
{
    command.describe("Removes what is expired or abandoned, then the least valuable entries until the limits are met.",
                     "  hearth gc                          to the configured limits\n"
                     "  hearth gc --max-bytes 2G           down to 2 GiB, this once\n"
                     "  hearth gc --older-than 30d         what nobody has used for 30 days\n"
                     "  hearth gc --gone-compilers 30d     what is left of compilers that nobody uses any more\n"
                     "  hearth gc --dry-run --max-bytes 2G",
                     "A compiler counts as gone if none of its entries was used or compiled for that long, by any\n"
                     "process of any machine that shares the directory.");
    auto& arguments = command.runs(run_gc);
    const Option bytes =
        command.size("--max-bytes", arguments.max_bytes, "Keep at most this much, this once: 512MiB, 10G");
    const Option entries =
        command.count("--max-entries", arguments.max_entries, "Keep at most this many entries, this once");
    command.duration("--older-than", arguments.older_than, "Remove entries that were not used for this long: 12h, 30d");
    command
        .duration("--gone-compilers", arguments.gone_compilers,
                  "Remove the entries of compilers of which none was used for this long: 30d")
        .excludes(bytes)
        .excludes(entries);
    command.flag("-n,--dry-run", arguments.dry_run, "Only show what would be removed, and why");
    command.json(arguments.json);
}

}  // namespace hearth::cli
