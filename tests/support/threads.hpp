#pragma once

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>

namespace hearth::test {

// The threads of this process, by number.
inline std::set<std::string> threads()
{
    std::set<std::string> all;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
        all.insert(task.path().filename());
    return all;
}

// Those that were not there before. A thread that was joined may be listed for a moment longer: only what is new tells.
inline std::set<std::string> threads_since(const std::set<std::string>& before)
{
    const std::set<std::string> now = threads();
    std::set<std::string> added;
    std::set_difference(now.begin(), now.end(), before.begin(), before.end(), std::inserter(added, added.begin()));
    return added;
}

}  // namespace hearth::test
