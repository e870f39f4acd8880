#include "commands.hpp"
#include "exit.hpp"
#include "hearth/admin.hpp"
#include "hearth/units.hpp"
#include "output.hpp"
#include "terminal.hpp"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <iostream>

#include <unistd.h>

namespace hearth::cli {

namespace {

struct Arguments {
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
        }
    return total;
}

bool confirmed(const TierUsage& usage)
{
    if (!is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO))
        fail_usage("clear removes every entry and cannot ask here. Add --yes to say that this is meant.");
    std::fputs(
        fmt::format("Remove {} ({})? [y/N] ", count_of(usage.entries, "entry", "entries"), format_size(usage.bytes))
            .c_str(),
        stderr);
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

int run_clear(const Globals& globals, const Arguments& arguments)
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
    if (arguments.json)
        print_json({{"removed", before.entries}, {"bytes", before.bytes}});
    else
        print_out("Removed {} ({}).\n", count_of(before.entries, "entry", "entries"), format_size(before.bytes));
    return k_done;
}

}  // namespace

void add_clear(CommandLine& line)
{
    CLI::App& command = line.add("clear", "Removes every entry, after asking. The statistics stay.",
                                 "  hearth clear\n"
                                 "  hearth clear --yes\n"
                                 "  hearth --dir build/cache clear --yes");
    auto arguments = std::make_shared<Arguments>();
    command.add_flag("-y,--yes", arguments->yes, "Do not ask");
    add_json_flag(command, arguments->json);
    line.on_chosen(command, arguments, run_clear);
}

}  // namespace hearth::cli
