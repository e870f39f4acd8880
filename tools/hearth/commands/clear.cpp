#include "cache/open_cache.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/terminal.hpp"
#include "json/json.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include <unistd.h>

namespace hearth::cli {

namespace {

struct ClearArguments {
    bool yes = false;
    bool json = false;
};

TierUsage persistent_usage(Cache& cache)
{
    TierUsage total;
    for (const TierStatus& tier : admin::tiers(cache))
        if (tier.traits.persistent) {
            total.bytes += tier.usage.bytes;
            total.entries += tier.usage.entries;
            total.aside_bytes += tier.usage.aside_bytes;
        }
    return total;
}

bool confirmed(const TierUsage& usage)
{
    if (!is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO))
        fail_usage(
            "clear removes every entry, and there is no terminal to ask on. Add --yes to remove them without asking.");
    std::fputs(
        fmt::format("Remove {} ({})? [y/N] ", count_of(usage.entries, "entry", "entries"), format_size(usage.bytes))
            .c_str(),
        stderr);
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

int run_clear(const Globals& globals, const ClearArguments& arguments)
{
    Cache cache = open_cache(globals, Use::change);
    const TierUsage before = persistent_usage(cache);
    if (!arguments.yes && !confirmed(before)) {
        complain("Nothing was removed.");
        return k_nothing;
    }
    admin::clear(cache);
    const TierUsage left = persistent_usage(cache);
    if (left.entries != 0)
        fail(fmt::format("{} could not be removed. 'hearth doctor' shows whether the directory can be written.",
                         count_of(left.entries, "entry", "entries")));
    const std::uint64_t aside = before.aside_bytes - std::min(before.aside_bytes, left.aside_bytes);
    if (arguments.json)
        print_json(
            {{"removed_entries", before.entries}, {"removed_bytes", before.bytes}, {"removed_aside_bytes", aside}});
    else
        print_out("Removed {} ({}){}.\n", count_of(before.entries, "entry", "entries"), format_size(before.bytes),
                  aside == 0 ? ""
                             : fmt::format(" and {} that was in quarantine or of older formats", format_size(aside)));
    return k_done;
}

}  // namespace

void add_clear(Command& command)
{
    command.describe("Removes every entry, after asking. The statistics stay.",
                     "  hearth clear\n"
                     "  hearth clear --yes\n"
                     "  hearth --dir build/cache clear --yes");
    auto& arguments = command.runs(run_clear);
    command.flag("-y,--yes", arguments.yes, "Remove without asking");
    command.json(arguments.json);
}

}  // namespace hearth::cli
