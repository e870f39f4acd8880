#include "cache/open_cache.hpp"
#include "cache/pattern.hpp"
#include "cache/rows.hpp"
#include "cache/variant_records.hpp"
#include "terminal/command_line.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::cli {

namespace {

struct TuneArguments {
    std::string kernel;
    bool clear = false;
    bool all = false;
    bool json = false;
};

void print_table(const std::vector<FoundRecord>& records)
{
    Table table({{"KEY"}, {"KERNEL"}, {"DEVICE"}, {"DRIVER"}, {"MEASURED"}, {"RESULT"}, {"SHAPE"}});
    for (const FoundRecord& found : records)
        table.add({short_key(found.key), printable(found.record.kernel), printable(found.record.device),
                   printable(found.record.driver), show_age(found.created, now()), result_of(found.record),
                   printable(found.record.shape)});
    table.print();
}

// Where measurements still are that were to be cleared.
struct Left {
    std::uint64_t in_bundles = 0;
    std::uint64_t on_servers = 0;
};

Left left_of(const Globals& globals, const std::vector<FoundRecord>& records)
{
    Left left;
    Cache cache = open_cache(globals, Use::look, Remotes::yes);
    const std::vector<TierStatus> tiers = admin::tiers(cache);
    for (const FoundRecord& found : records) {
        const std::vector<std::string> places = admin::where(cache, found.key);
        const auto is_in = [&](bool TierTraits::*kind) {
            return std::ranges::any_of(tiers, [&](const TierStatus& tier) {
                return tier.traits.*kind && std::ranges::find(places, tier.name) != places.end();
            });
        };
        left.in_bundles += is_in(&TierTraits::fixed) ? 1 : 0;
        left.on_servers += is_in(&TierTraits::remote) ? 1 : 0;
    }
    return left;
}

void say_what_is_left(std::uint64_t count, std::string_view where, std::string_view what_to_do)
{
    if (count > 0)
        complain(fmt::format("{} still {} that cannot be changed from here, and still believed. {}",
                             count == 1 ? "1 measurement is" : fmt::format("{} measurements are", count), where,
                             what_to_do));
}

// On this machine and on its servers, so that the next process measures anew.
int clear(const Globals& globals, const std::vector<FoundRecord>& records, bool json)
{
    std::uint64_t removed = 0;
    {
        Cache cache = open_cache(globals, Use::change, Remotes::yes);
        for (const FoundRecord& found : records)
            removed += cache.remove(found.key) ? 1 : 0;
    }
    const Left left = left_of(globals, records);
    if (json)
        print_json(
            {{"removed_entries", removed}, {"left_in_bundles", left.in_bundles}, {"left_on_servers", left.on_servers}});
    else
        print_out("Removed {}.\n", count_of(removed, "measurement", "measurements"));
    say_what_is_left(left.in_bundles, "in a bundle", "Build that anew when the kernel was measured again.");
    say_what_is_left(left.on_servers, "on a server", "Clear it from where that server can be written.");
    return removed > 0 ? k_done : k_nothing;
}

int run_tune(const Globals& globals, const TuneArguments& arguments)
{
    if (arguments.clear && arguments.kernel.empty() && !arguments.all)
        fail_usage("Say what to clear: a KERNEL, as in 'hearth tune --clear gemm', or --all.");
    const std::vector<FoundRecord> records = [&] {
        Cache cache = open_cache(globals, Use::look);
        return variant_records(cache, [&](const FoundRecord& found) {
            return arguments.kernel.empty() || glob_matches(arguments.kernel, found.record.kernel);
        });
    }();
    if (records.empty()) {
        complain(arguments.kernel.empty()
                     ? "No kernel's variants were measured yet. docs/variants.md shows how a kernel declares them."
                     : fmt::format("No variants of a kernel called {} were measured. 'hearth tune' lists all.",
                                   in_quotes(arguments.kernel)));
        return k_nothing;
    }
    if (arguments.clear)
        return clear(globals, records, arguments.json);
    if (arguments.json) {
        for (const FoundRecord& found : records)
            print_json(as_json(found));
        return k_done;
    }
    print_table(records);
    if (records.size() == 1 || !arguments.kernel.empty())
        for (const FoundRecord& found : records) {
            print_out("\n");
            if (records.size() > 1)
                print_out("{}  {}\n", short_key(found.key), printable(found.record.shape));
            print_variants(found.record);
        }
    return k_done;
}

}  // namespace

void add_tune(Command& command)
{
    command.describe("Shows which variants of kernels were measured, and which won; or forgets it.",
                     "  hearth tune\n"
                     "  hearth tune gemm                   one kernel, with the time of each variant\n"
                     "  hearth tune --clear 'gemm*'        here and on the servers: the next process measures anew\n"
                     "  hearth tune --json | jq .winner",
                     "A program declares variants of a kernel (hearth/variants.hpp); the best is found while it runs.");
    auto& arguments = command.runs(run_tune);
    command.text("KERNEL", arguments.kernel, "Only kernels of this name; * and ? are wildcards");
    command.flag("--clear", arguments.clear, "Forget what was measured");
    command.flag("--all", arguments.all, "With --clear: of all kernels");
    command.json(arguments.json);
}

}  // namespace hearth::cli
