#include "library_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include <glob.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

constexpr int k_deepest_include = 8;

void add_once(std::vector<std::string>& list, const std::string& item)
{
    if (!item.empty() && std::find(list.begin(), list.end(), item) == list.end())
        list.push_back(item);
}

std::string environment(const char* name)
{
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

std::vector<std::string> split(const std::string& text, char separator)
{
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        parts.push_back(part);
    return parts;
}

// ld.so.conf: a directory a line, "include GLOB", "#" to the end of the line.
void read_loader_configuration(const std::string& file, int depth, std::vector<std::string>& directories)
{
    if (depth == 0)
        return;
    for (std::string line : split(small_file(file), '\n')) {
        line = line.substr(0, line.find('#'));
        std::istringstream words(line);
        std::string first;
        std::string second;
        words >> first >> second;
        if (first == "include")
            for (const std::string& included : expand(second))
                read_loader_configuration(included, depth - 1, directories);
        else
            add_once(directories, first);
    }
}

}  // namespace

std::vector<std::string> expand(const std::string& pattern)
{
    glob_t found{};
    std::vector<std::string> paths;
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
        paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    return paths;
}

std::string small_file(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    std::string text(64U << 10U, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
    return text;
}

std::string real_path(const std::string& path)
{
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    return error ? path : real.string();
}

std::vector<std::string> loader_directories()
{
    std::vector<std::string> directories;
    for (const std::string& directory : split(environment("LD_LIBRARY_PATH"), ':'))
        add_once(directories, directory);
    read_loader_configuration("/etc/ld.so.conf", k_deepest_include, directories);
    for (const char* directory : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"})
        add_once(directories, directory);
    return directories;
}

std::vector<std::string> cuda_library_directories()
{
    std::vector<std::string> roots;
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
        add_once(roots, environment(variable));
    for (const char* pattern : {"/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda"})
        for (const std::string& root : expand(pattern))
            add_once(roots, root);

    std::vector<std::string> directories;
    for (const std::string& root : roots) {
        for (const char* below : {"/lib64", "/lib"})
            add_once(directories, root + below);
        for (const std::string& target : expand(root + "/targets/*/lib"))
            add_once(directories, target);
    }
    std::vector<std::string> packages{"/usr/lib/python3/dist-packages", "/usr/local/lib/python3*/dist-packages"};
    if (const std::string venv = environment("VIRTUAL_ENV"); !venv.empty())
        packages.push_back(venv + "/lib/python3*/site-packages");
    if (const std::string conda = environment("CONDA_PREFIX"); !conda.empty()) {
        packages.push_back(conda + "/lib/python3*/site-packages");
        add_once(directories, conda + "/lib");
    }
    for (const std::string& package : packages)
        for (const std::string& directory : expand(package + "/nvidia/*/lib"))
            add_once(directories, directory);
    return directories;
}

std::vector<std::string> files_matching(const std::vector<std::string>& directories, const std::string& glob)
{
    std::vector<std::string> files;
    for (const std::string& directory : directories)
        for (const std::string& file : expand(fmt::format("{}/{}", directory, glob)))
            add_once(files, real_path(file));
    return files;
}

std::string program_on_path(const std::string& name)
{
    for (const std::string& directory : split(environment("PATH"), ':')) {
        std::string candidate = (directory.empty() ? "." : directory) + "/" + name;
        std::error_code error;
        if (::access(candidate.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(candidate, error))
            return candidate;
    }
    return {};
}

}  // namespace hearth::cli
