#pragma once

#include "hearth/admin.hpp"
#include "json/json.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace hearth::cli {

// What the cache holds of one compiler.
struct CompilerEntries {
    std::string name;   // and version
    std::string build;  // which one exactly; empty: its entries do not say
    std::vector<EntryRow> entries{};
    std::uint64_t bytes = 0;
    WallTime last_used{};  // when any of them was last used, or stored
};

// The compilers of which no entry was used or compiled for so long, by any process on any machine that shares the
// directory. (Whether its library is still there says less: containers and environments come and go, and other machines
// have other compilers.) Entries that name no compiler belong to none.
std::vector<CompilerEntries> gone_compilers(Cache& cache, std::chrono::milliseconds unused_for);

void print_compilers(const std::vector<CompilerEntries>& compilers);
Json compiler_as_json(const CompilerEntries& compiler);

}  // namespace hearth::cli
