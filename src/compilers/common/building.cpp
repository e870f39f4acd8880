#include "compilers/common/building.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace hearth::compilers {

recipes::BuildResult build_ended(recipes::Outcome outcome, std::string reason)
{
    recipes::BuildResult result;
    result.outcome = outcome;
    result.reason = std::move(reason);
    return result;
}

recipes::BuildResult build_stored(Cache& cache, const Key& key)
{
    recipes::BuildResult result;
    result.key = key;
    // A failed store does not make the compile fail, so it has to be checked here.
    if (const Lookup there = cache.peek(key); there && !there->failed())
        result.outcome = recipes::Outcome::built;
    else
        result.reason = "It was compiled, and the cache did not keep it. See that there is room for it: on the disk, "
                        "and within the limits of the cache (HEARTH_MAX_BYTES).";
    return result;
}

std::string first_error(std::string_view log)
{
    std::string_view first;
    while (!log.empty()) {
        const std::string_view line = base::take_until('\n', log);
        const std::size_t problem = std::min(line.find("error"), line.find("fatal"));
        if (problem < line.find("warning"))
            return std::string(line);
        if (first.empty())
            first = line;
    }
    return first.empty() ? "its log is empty" : std::string(first);
}

std::string tree_in(const std::string& scratch)
{
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(scratch, error);
    return (error ? std::filesystem::path(scratch) : absolute) / "tree";
}

Surroundings::Surroundings(const std::string& directory, const std::vector<std::string>& unset,
                           const std::vector<std::string>& set)
    : m_before(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))
{
    for (const std::string& variable : unset)
        ::unsetenv(name_to_restore(variable).c_str());
    for (const std::string& variable : set)
        ::setenv(name_to_restore(variable).c_str(),
                 variable.c_str() + std::min(variable.find('=') + 1, variable.size()), 1);
    m_error = ::chdir(directory.c_str()) == 0 ? 0 : errno;
}

Surroundings::~Surroundings()
{
    // What was noted first is what was there at the beginning.
    std::reverse(m_variables_before.begin(), m_variables_before.end());
    for (const auto& [name, value] : m_variables_before) {
        if (value)
            ::setenv(name.c_str(), value->c_str(), 1);
        else
            ::unsetenv(name.c_str());
    }
    if (m_before >= 0) {
        [[maybe_unused]] const int back = ::fchdir(m_before);
        ::close(m_before);
    }
}

std::string Surroundings::name_to_restore(const std::string& variable)
{
    std::string name = variable.substr(0, variable.find('='));
    const char* const value = std::getenv(name.c_str());
    m_variables_before.emplace_back(name, value != nullptr ? std::optional<std::string>(value) : std::nullopt);
    return name;
}

}  // namespace hearth::compilers
