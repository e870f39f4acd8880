#include "doctor/machine.hpp"

#include "hearth/libraries.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <unistd.h>

namespace hearth::cli {

namespace {

// The first 64 KiB of a file; empty if it cannot be read.
std::string small_file(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    std::string text(64U << 10U, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
    return text;
}

// The first program of that name on PATH, with links followed; empty if there is none.
std::string program_on_path(const std::string& name)
{
    const char* path = std::getenv("PATH");
    std::istringstream directories(path != nullptr ? path : "");
    for (std::string directory; std::getline(directories, directory, ':');) {
        const std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
        std::error_code error;
        if (::access(candidate.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(candidate, error))
            return std::filesystem::canonical(candidate, error).string();
    }
    return {};
}

std::string first_line(const std::string& text)
{
    return text.substr(0, text.find('\n'));
}

// The value of "Name:   value" in a file of such lines.
std::string value_of(const std::string& text, std::string_view name)
{
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.compare(0, name.size(), name) != 0 || line.size() <= name.size() || line[name.size()] != ':')
            continue;
        const std::size_t start = line.find_first_not_of(" \t", name.size() + 1);
        return start == std::string::npos ? "" : line.substr(start);
    }
    return {};
}

}  // namespace

std::vector<FoundCompiler> find_compilers()
{
    const std::vector<std::string> directories = library_directories();
    std::vector<FoundCompiler> found;
    static constexpr std::array<std::array<const char*, 3>, 3> k_libraries{
        {{"NVRTC", "libnvrtc.so*", "HEARTH_NVRTC"},
         {"nvJitLink", "libnvJitLink.so*", "HEARTH_NVJITLINK"},
         {"libNVVM", "libnvvm.so*", "HEARTH_NVVM"}}};
    for (const auto& [kind, names, variable] : k_libraries) {
        const char* const given = std::getenv(variable);
        if (given != nullptr && *given != '\0')
            found.push_back({kind, given, why_not_watched(given), variable});
        for (const std::string& path : files_matching(directories, names))
            if (given == nullptr || path != given)
                found.push_back({kind, path, why_not_watched(path)});
    }
    for (const char* program : {"nvcc", "clang", "g++"})
        if (const std::string path = program_on_path(program); !path.empty())
            found.push_back({program, path});
    return found;
}

std::vector<FoundOpenCl> find_opencl()
{
    std::vector<FoundOpenCl> found;
    for (const std::string& file : expand("/etc/OpenCL/vendors/*.icd"))
        found.push_back({file, first_line(small_file(file))});
    return found;
}

std::vector<FoundGpu> find_gpus()
{
    std::vector<FoundGpu> found;
    for (const std::string& file : expand("/proc/driver/nvidia/gpus/*/information")) {
        const std::string text = small_file(file);
        found.push_back({value_of(text, "Model"), value_of(text, "Bus Location")});
    }
    // A container may have the device but not its description.
    if (found.empty())
        for (const std::string& node : expand("/dev/nvidia[0-9]*"))
            found.push_back({"NVIDIA GPU", node});
    return found;
}

FoundDriver find_driver()
{
    FoundDriver driver;
    driver.version = value_of(small_file("/proc/driver/nvidia/version"), "NVRM version");
    const std::vector<std::string> libraries = files_matching(loader_directories(), "libcuda.so.1");
    if (!libraries.empty())
        driver.library = libraries.front();
    return driver;
}

}  // namespace hearth::cli
