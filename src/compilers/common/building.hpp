#pragma once

#include "hearth/recipes.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// What compilers have in common where they build entries from recipes.

namespace hearth::compilers {

recipes::BuildResult build_ended(recipes::Outcome outcome, std::string reason);

// It was compiled, and now lies in the cache under this key, or the cache has not kept it.
recipes::BuildResult build_stored(Cache& cache, const Key& key);

// The line of a log that says what is wrong. Warnings are skipped.
std::string first_error(std::string_view log);

// An absolute path, since the working directory changes.
std::string tree_in(const std::string& scratch);

// While it lives, the process has another working directory, and other variables.
class Surroundings {
public:
    // `unset`: names, or "NAME=value"; `set`: "NAME=value".
    Surroundings(const std::string& directory, const std::vector<std::string>& unset,
                 const std::vector<std::string>& set);
    ~Surroundings();
    Surroundings(const Surroundings&) = delete;
    Surroundings& operator=(const Surroundings&) = delete;

    int error() const { return m_error; }

private:
    std::string name_to_restore(const std::string& variable);

    int m_before;
    int m_error = 0;
    std::vector<std::pair<std::string, std::optional<std::string>>> m_variables_before;
};

}  // namespace hearth::compilers
