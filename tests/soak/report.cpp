#include "faults.hpp"

#include <fmt/format.h>

namespace hearth::soak {

namespace {

std::string row(std::string_view name, std::uint64_t count)
{
    return fmt::format("  {:<48} {:>12}\n", name, count);
}

}  // namespace

std::string counts_of(const Shared& shared)
{
    std::string text = "Operations\n";
    for (std::size_t i = 0; i < operation_count(); ++i)
        text += row(operation_name(i), shared.operations[i]);
    text += row("in all", sum_of(shared.operations)) + "Answers\n";
    for (std::size_t i = 0; i < k_tiers.size(); ++i)
        text += row(fmt::format("hits in tier {}", k_tiers[i]), shared.hits[i]);
    text += row("compiled", shared.compiled) + row("waited for another's compile", shared.waited);
    for (std::size_t i = 0; i < k_miss_reasons; ++i)
        text += row(fmt::format("lookups without a hit: {}", to_string(static_cast<Miss>(i))), shared.misses[i]);
    text += row("bytes compared", shared.checked_bytes) + "Errors\n";
    for (std::size_t i = 0; i < operation_count(); ++i)
        for (std::size_t code = 0; code < k_codes.size(); ++code)
            if (const std::uint64_t count = shared.errors[i][code]; count != 0)
                text += row(fmt::format("{}: {}", operation_name(i), k_codes[code]), count);
    text += "Faults\n";
    const std::span<const Fault> faults = all_faults();
    for (std::size_t i = 0; i < faults.size(); ++i)
        text += row(faults[i].name, shared.faults[i]);
    text += row("in all", sum_of(shared.faults)) + "Outcome\n";
    text += row("processes started", shared.starts) + row("caches opened", shared.opened);
    text += row("children forked", shared.forked_children) + row("damaged entries met", shared.corrupt);
    text += row("entries evicted", shared.evictions) + row("entries demoted", shared.demotions);
    text += row("hangs", shared.hangs) + row("wrong answers, crashes and hangs", shared.wrong);
    return text;
}

}  // namespace hearth::soak
