#include "cache/open_cache.hpp"
#include "cache/rows.hpp"
#include "cache/selection.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

#include <fmt/format.h>

namespace hearth::cli {

namespace {

struct RmArguments {
    Selection selection;
    bool dry_run = false;
    bool json = false;
};

struct Removed {
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;
};

Removed remove(Cache& cache, const std::vector<EntryRow>& chosen, const Progress& progress)
{
    Removed removed;
    for (const EntryRow& row : chosen) {
        if (cache.remove(row.key)) {
            ++removed.entries;
            removed.bytes += row.stored_bytes;
        } else if (!admin::where(cache, row.key).empty()) {  // otherwise another process removed it first
            fail(fmt::format("Entry {} could not be removed. 'hearth doctor' shows whether the directory can be "
                             "written.",
                             short_key(row.key)));
        }
        if (!progress(removed.entries, chosen.size()))
            break;
    }
    return removed;
}

// What remove() would remove.
Removed count(const std::vector<EntryRow>& chosen)
{
    Removed all{chosen.size()};
    for (const EntryRow& row : chosen)
        all.bytes += row.stored_bytes;
    return all;
}

int run_rm(const Globals& globals, const RmArguments& arguments)
{
    if (arguments.selection.is_everything())
        fail_usage(
            "Say what to remove: a PATTERN, --target, --compiler, --older-than or --failed. 'hearth clear' removes "
            "everything; 'hearth rm --help' explains each.");
    const bool dry = arguments.dry_run;
    Cache cache = open_cache(globals, dry ? Use::read : Use::change);
    std::vector<EntryRow> chosen;
    admin::list(cache, [&, choose = chosen_by(arguments.selection)](const EntryRow& row) {
        if (choose(row))
            chosen.push_back(row);
        return true;
    });
    const Removed removed =
        dry ? count(chosen) : with_progress("Removing", unless(arguments.json), [&](const Progress& progress) {
            return remove(cache, chosen, progress);
        });

    if (dry && !arguments.json)
        for (const EntryRow& row : chosen)
            print_out("{}  {}\n", short_key(row.key), printable(row.metadata.label));
    if (arguments.json)
        print_json({{"removed_entries", dry ? 0 : removed.entries},
                    {"removed_bytes", dry ? 0 : removed.bytes},
                    {"matched_entries", chosen.size()},
                    {"matched_bytes", count(chosen).bytes},
                    {"dry_run", dry}});
    else if (!chosen.empty())
        print_out("{} {} ({}).\n", dry ? "Would remove" : "Removed", count_of(removed.entries, "entry", "entries"),
                  format_size(removed.bytes));
    if (chosen.empty()) {
        complain(nothing_matches(arguments.selection) + ".");
        return k_nothing;
    }
    return k_done;
}

}  // namespace

void add_rm(Command& command)
{
    command.describe("Removes the entries that match.", "  hearth rm saxpy\n"
                                                        "  hearth rm --dry-run 'test_*'\n"
                                                        "  hearth rm --failed\n"
                                                        "  hearth rm --target sm_80 --older-than 30d");
    auto& arguments = command.runs(run_rm);
    add_selection(command, arguments.selection);
    command.flag("-n,--dry-run", arguments.dry_run, "Only show what would be removed");
    command.json(arguments.json);
}

}  // namespace hearth::cli
