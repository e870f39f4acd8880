#include "cache/compilers.hpp"

#include "cache/rows.hpp"
#include "hearth/units.hpp"
#include "terminal/output.hpp"
#include "terminal/table.hpp"
#include "terminal/text.hpp"
#include "terminal/times.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace hearth::cli {

std::vector<CompilerEntries> gone_compilers(Cache& cache, std::chrono::milliseconds unused_for)
{
    std::map<std::pair<std::string, std::string>, CompilerEntries> all;
    admin::list(cache, [&](const EntryRow& row) {
        if (row.metadata.compiler.empty() || is_internal(row))
            return true;
        CompilerEntries& its = all[{row.metadata.compiler, row.compiler_build}];
        its.last_used = std::max({its.last_used, row.last_used, row.created});
        its.bytes += row.stored_bytes;
        its.entries.push_back(row);
        return true;
    });
    // The listing does without times of use where the directory's lock is held for long. What gc itself would remove is
    // known under the lock, or not at all.
    EvictTo goal;
    goal.unused_for = std::chrono::ceil<std::chrono::seconds>(unused_for);
    std::unordered_set<Key> unused;
    for (const GcCandidate& candidate : admin::would_gc(cache, goal))
        if (candidate.why != GcCandidate::Why::over_limit)
            unused.insert(candidate.entry.key);
    std::vector<CompilerEntries> gone;
    for (auto& [compiler, its] : all)
        if (std::ranges::all_of(its.entries, [&](const EntryRow& row) { return unused.contains(row.key); })) {
            its.name = compiler.first;
            its.build = compiler.second;
            gone.push_back(std::move(its));
        }
    return gone;
}

void print_compilers(const std::vector<CompilerEntries>& compilers)
{
    Table table({{"COMPILER"}, {"ENTRIES", Align::right}, {"SIZE", Align::right}, {"LAST USED"}, {"BUILD"}});
    for (const CompilerEntries& compiler : compilers)
        table.add({printable(compiler.name), std::to_string(compiler.entries.size()), format_size(compiler.bytes),
                   show_age(compiler.last_used, now()), compiler.build.empty() ? "-" : printable(compiler.build)});
    table.print();
}

Json compiler_as_json(const CompilerEntries& compiler)
{
    return {{"name", compiler.name},
            {"build", compiler.build},
            {"entries", compiler.entries.size()},
            {"bytes", compiler.bytes},
            {"last_used", time_as_json(compiler.last_used)}};
}

}  // namespace hearth::cli
