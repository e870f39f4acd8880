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

bool has_server(Cache& cache)
{
    return std::ranges::any_of(admin::tiers(cache), [](const TierStatus& tier) { return tier.traits.remote; });
}

// Bundles hold it too, and cannot be changed.
bool is_in_bundle(Cache& cache, const Key& key)
{
    const std::vector<TierStatus> tiers = admin::tiers(cache);
    return std::ranges::any_of(admin::where(cache, key), [&](const std::string& name) {
        return std::ranges::any_of(tiers,
                                   [&](const TierStatus& tier) { return tier.name == name && tier.traits.fixed; });
    });
}

// On this machine and on its servers, so that the next process measures anew.
int clear(const Globals& globals, const std::vector<FoundRecord>& records, std::uint64_t in_bundles, bool json)
{
    Cache cache = open_cache(globals, Use::change, Remotes::yes);
    std::uint64_t removed = 0;
    for (const FoundRecord& found : records)
        removed += cache.remove(found.key) ? 1 : 0;
    if (json)
        print_json({{"removed_entries", removed}, {"left_in_bundles", in_bundles}});
    else if (removed > 0)
        print_out("Removed {}{}{}\n", count_of(removed, "measurement", "measurements"),
                  has_server(cache) ? ", from this machine and its servers" : "",
                  in_bundles > 0 ? "."
                                 : fmt::format(": measured anew by the next process that launches {}.",
                                               removed == 1 ? "it" : "them"));
    if (in_bundles > 0)
        complain(fmt::format("{} in a bundle, which cannot be changed: still believed while HEARTH_BUNDLES names it. "
                             "Build the bundle anew after the kernel was measured again.",
                             in_bundles == 1 ? "1 of them is" : fmt::format("{} of them are", in_bundles)));
    return removed > 0 ? k_done : k_nothing;
}

int run_tune(const Globals& globals, const TuneArguments& arguments)
{
    if (arguments.clear && arguments.kernel.empty() && !arguments.all)
        fail_usage("Say what to clear: a KERNEL, as in 'hearth tune --clear gemm', or --all.");
    std::uint64_t in_bundles = 0;
    const std::vector<FoundRecord> records = [&] {
        Cache cache = open_cache(globals, Use::look);
        std::vector<FoundRecord> wanted = variant_records(cache, [&](const FoundRecord& found) {
            return arguments.kernel.empty() || glob_matches(arguments.kernel, found.record.kernel);
        });
        if (arguments.clear)
            for (const FoundRecord& found : wanted)
                in_bundles += is_in_bundle(cache, found.key) ? 1 : 0;
        return wanted;
    }();
    if (records.empty()) {
        complain(arguments.kernel.empty()
                     ? "No kernel's variants were measured yet. docs/variants.md shows how a kernel declares them."
                     : fmt::format("No variants of a kernel called {} were measured. 'hearth tune' lists all.",
                                   in_quotes(arguments.kernel)));
        return k_nothing;
    }
    if (arguments.clear)
        return clear(globals, records, in_bundles, arguments.json);
    if (arguments.json) {
        for (const FoundRecord& found : records)
            print_json(as_json(found));
        return k_done;
    }
    print_table(records);
    if (records.size() == 1) {
        print_out("\n");
        print_variants(records.front().record);
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
