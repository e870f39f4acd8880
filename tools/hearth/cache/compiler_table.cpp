#include "cache/compiler_table.hpp"

#include "hearth/compiler_kind.hpp"
#include "terminal/times.hpp"

#include <fmt/format.h>

namespace hearth::cli {

std::optional<Table> compiler_table(const Stats& stats)
{
    Table table({{"COMPILER"},
                 {"HITS", Align::right},
                 {"COMPILES", Align::right},
                 {"HIT RATE", Align::right},
                 {"SAVED", Align::right},
                 {"SPENT", Align::right}});
    bool any = false;
    for (std::size_t i = 0; i < k_compiler_kinds; ++i) {
        const CompilerStats& compiler = stats.compilers[i];
        const std::uint64_t asked = compiler.hits + compiler.compiles;
        if (asked == 0)
            continue;
        any = true;
        table.add({std::string(k_compiler_names[i].name), std::to_string(compiler.hits),
                   std::to_string(compiler.compiles),
                   fmt::format("{:.1f} %", 100.0 * static_cast<double>(compiler.hits) / static_cast<double>(asked)),
                   show_duration(std::chrono::nanoseconds(compiler.compile_ns_saved)),
                   show_duration(std::chrono::nanoseconds(compiler.compile_ns_spent))});
    }
    return any ? std::optional(std::move(table)) : std::nullopt;
}

}  // namespace hearth::cli
