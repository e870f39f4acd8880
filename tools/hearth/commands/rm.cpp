#include "cache/open_cache.hpp"
#include "cache/pattern.hpp"
#include "cache/rows.hpp"
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
    std::string pattern;
    bool dry_run = false;
    bool json = false;
};

int run_rm(const Globals& globals, const RmArguments& arguments)
{
    Cache cache = open_cache(globals, arguments.dry_run ? Use::read : Use::change);
    const Pattern pattern(arguments.pattern);
    std::vector<std::pair<Key, std::uint64_t>> chosen;
    std::vector<EntryRow> rows;  // filled for a dry run only
    admin::list(cache, [&](const EntryRow& row) {
        if (!pattern.matches(row))
            return true;
        chosen.emplace_back(row.key, row.stored_bytes);
        if (arguments.dry_run && !arguments.json)
            rows.push_back(row);
        return true;
    });

    std::uint64_t removed = 0;
    std::uint64_t bytes = 0;
    {
        ProgressBar bar("Removing", unless(arguments.json));
        const Progress report = bar.report();
        for (const auto& [key, size] : chosen) {
            if (arguments.dry_run || cache.remove(key)) {
                ++removed;
                bytes += size;
            } else if (!admin::where(cache, key).empty()) {  // otherwise another process removed it first
                fail(fmt::format("Entry {} could not be removed. 'hearth doctor' shows whether the directory can be "
                                 "written.",
                                 short_key(key)));
            }
            report(removed, chosen.size());
        }
    }

    for (const EntryRow& row : rows)
        print_out("{}  {}\n", short_key(row.key), printable(row.metadata.label));
    if (arguments.json)
        print_json({{"removed", arguments.dry_run ? 0 : removed},
                    {"matched", chosen.size()},
                    {"bytes", bytes},
                    {"dry_run", arguments.dry_run}});
    else if (!chosen.empty())
        print_out("{} {} ({}).\n", arguments.dry_run ? "Would remove" : "Removed",
                  count_of(removed, "entry", "entries"), format_size(bytes));
    if (chosen.empty()) {
        complain("Nothing matches " + in_quotes(arguments.pattern) + ".");
        return k_nothing;
    }
    return k_done;
}

}  // namespace

void add_rm(Command& command)
{
    command.describe("Removes the entries that match a pattern.", "  hearth rm saxpy\n"
                                                                  "  hearth rm --dry-run 'test_*'\n"
                                                                  "  hearth rm 1f3a9c04d2");
    auto& arguments = command.runs(run_rm);
    command.text("PATTERN", arguments.pattern, Pattern::k_help).required();
    command.flag("-n,--dry-run", arguments.dry_run, "Only show what would be removed");
    command.json(arguments.json);
}

}  // namespace hearth::cli
