#pragma once

#include <string>
#include <utility>
#include <vector>

namespace hearth::base {

inline constexpr std::size_t k_problems_told = 100;

// Adds a sentence to a report, up to a limit: a damaged cache of a million entries must not blow the report up.
inline void tell(std::vector<std::string>& problems, std::string problem)
{
    if (problems.size() < k_problems_told)
        problems.push_back(std::move(problem));
}

}  // namespace hearth::base
