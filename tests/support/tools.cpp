#include "support/tools.hpp"

#include <cstdlib>
#include <sstream>
#include <unistd.h>

namespace hearth::test {

std::string tool(std::string_view name)
{
    const auto variable = [](const char* of, const char* otherwise) {
        const char* const value = std::getenv(of);
        return std::string(value != nullptr ? value : otherwise);
    };
    std::istringstream folders(variable("PATH", "") +
                               ":/usr/sbin:/usr/local/sbin:" + variable("CUDA_HOME", "/usr/local/cuda") +
                               "/bin:" + variable("CUDA_PATH", "/opt/cuda") + "/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
        if (const std::string path = folder + "/" + std::string(name);
            !folder.empty() && ::access(path.c_str(), X_OK) == 0)
            return path;
    return {};
}

std::string not_installed(std::string_view name)
{
    return std::string(name) + " is not installed: scripts/install-deps test";
}

}  // namespace hearth::test
