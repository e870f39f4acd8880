#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hearth::bench {

// What a figure means nothing without: commit, day, machine, compiler, and what else the machine did.
std::vector<std::pair<std::string, std::string>> machine_facts();

}  // namespace hearth::bench
