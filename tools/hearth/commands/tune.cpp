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

// What is cleared is measured anew by the next process that launches the kernel.
int clear(Cache& cache, const std::vector<FoundRecord>& records, bool json)
{
    std::uint64_t removed = 0;
    for (const FoundRecord& found : records)
        removed += cache.remove(found.key) ? 1 : 0;
    if (json)
        print_json({{"removed_entries", removed}});
    else
        print_out("Removed {}: measured anew by the next process that launches {}.\n",
                  count_of(removed, "measurement", "measurements"), removed == 1 ? "it" : "them");
    return k_done;
}

int run_tune(const Globals& globals, const TuneArguments& arguments)
{
    if (arguments.clear && arguments.kernel.empty() && !arguments.all)
        fail_usage("Say what to clear: a KERNEL, as in 'hearth tune --clear gemm', or --all.");
    Cache cache = open_cache(globals, arguments.clear ? Use::change : Use::look);
    const std::vector<FoundRecord> records = variant_records(cache, [&](const FoundRecord& found) {
        return arguments.kernel.empty() || glob_matches(arguments.kernel, found.record.kernel);
    });
    if (records.empty()) {
        complain(arguments.kernel.empty()
                     ? "No kernel's variants were measured yet. docs/variants.md shows how a kernel declares them."
                     : fmt::format("No variants of a kernel called {} were measured. 'hearth tune' lists all.",
                                   in_quotes(arguments.kernel)));
        return k_nothing;
    }
    if (arguments.clear)
        return clear(cache, records, arguments.json);
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
                     "  hearth tune --clear 'gemm*'        the next process measures anew\n"
                     "  hearth tune --json | jq .winner",
                     "A program declares variants of a kernel (hearth/variants.hpp); the best is found while it runs.");
    auto& arguments = command.runs(run_tune);
    command.text("KERNEL", arguments.kernel, "Only kernels of this name; * and ? are wildcards");
    command.flag("--clear", arguments.clear, "Forget what was measured");
    command.flag("--all", arguments.all, "With --clear: of all kernels");
    command.json(arguments.json);
}

}  // namespace hearth::cli
