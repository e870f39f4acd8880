#include "gpu/host/memory_limit.hpp"

#include <algorithm>
#include <fstream>

namespace hearth::gpu {

namespace {

// UINT64_MAX if there is none, or no such file.
std::uint64_t limit_in(const std::string& file)
{
    std::ifstream text(file);
    std::uint64_t limit = 0;
    return text >> limit ? limit : UINT64_MAX;
}

}  // namespace

// A line is "0::/path" for version 2 of control groups, and "7:memory:/path" for version 1.
std::uint64_t memory_limit_of_groups(const std::string& root)
{
    std::uint64_t least = UINT64_MAX;
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        const std::size_t kind = line.find(':');
        const std::size_t path = kind == std::string::npos ? kind : line.find(':', kind + 1);
        if (path == std::string::npos)
            continue;
        const std::string controller = line.substr(kind + 1, path - kind - 1);
        if (!controller.empty() && controller != "memory")
            continue;
        const std::string top = root + (controller.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
        const char* const file = controller.empty() ? "/memory.max" : "/memory.limit_in_bytes";
        for (std::string group = line.substr(path + 1);; group.resize(group.rfind('/'))) {
            least = std::min(least, limit_in(top + group + file));
            if (group.find('/') == std::string::npos)
                break;
        }
    }
    return least;
}

}  // namespace hearth::gpu
