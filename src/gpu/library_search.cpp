#include "hearth/libraries.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <glob.h>
#include <sstream>
#include <system_error>
#include <unistd.h>

namespace hearth {

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

std::string real_path(const std::string& path)
{
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    return error ? path : real.string();
}

// ld.so.conf: one directory per line, "include GLOB", and comments from "#" to the end of the line.
void read_loader_configuration(const std::string& file, int depth, std::vector<std::string>& directories)
{
    std::ifstream lines(file);
    for (std::string line; depth > 0 && std::getline(lines, line);) {
        const std::vector<std::string_view> words = base::words_of(std::string_view(line).substr(0, line.find('#')));
        if (words.size() > 1 && words[0] == "include")
            for (const std::string& included : expand(std::string(words[1])))
                read_loader_configuration(included, depth - 1, directories);
        else if (!words.empty())
            add_once(directories, std::string(words[0]));
    }
}

void add_toolkit(std::vector<std::string>& directories, const std::string& root)
{
    if (root.empty())
        return;
    for (const char* below : {"/lib64", "/lib", "/nvvm/lib64"})
        add_once(directories, root + below);
    for (const std::string& target : expand(root + "/targets/*/lib"))
        add_once(directories, target);
}

void add_packages(std::vector<std::string>& directories)
{
    if (const std::string conda = environment("CONDA_PREFIX"); !conda.empty())
        for (const char* below : {"/lib", "/nvvm/lib64"})
            add_once(directories, conda + below);
    for (const std::string& package : python_packages())
        for (const char* below : {"/nvidia/*/lib", "/nvidia/*/nvvm/lib64"})
            for (const std::string& directory : expand(package + below))
                add_once(directories, directory);
}

// "libnvrtc.so.13.0" after "libnvrtc.so.9": numbers count as numbers.
bool version_less(const std::string& a, const std::string& b)
{
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        if (base::is_digit(a[i]) && base::is_digit(b[j])) {
            char* end = nullptr;
            const unsigned long left = std::strtoul(a.c_str() + i, &end, 10);
            i = static_cast<std::size_t>(end - a.c_str());
            const unsigned long right = std::strtoul(b.c_str() + j, &end, 10);
            j = static_cast<std::size_t>(end - b.c_str());
            if (left != right)
                return left < right;
        } else if (a[i] != b[j]) {
            return a[i] < b[j];
        } else {
            ++i;
            ++j;
        }
    }
    return a.size() - i < b.size() - j;
}

void add_named_toolkit(std::vector<std::string>& directories)
{
    add_toolkit(directories, environment("CUDA_HOME"));
    add_toolkit(directories, environment("CUDA_PATH"));
}

void add_loader(std::vector<std::string>& directories)
{
    for (const std::string& directory : loader_directories())
        add_once(directories, directory);
}

void add_usual_toolkits(std::vector<std::string>& directories)
{
    for (const char* pattern : {"/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda"})
        for (const std::string& root : expand(pattern))
            add_toolkit(directories, root);
}

constexpr std::array k_places{add_named_toolkit, add_loader, add_usual_toolkits, add_packages};

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

std::vector<std::string> python_packages()
{
    std::vector<std::string> packages;
    if (const std::string venv = environment("VIRTUAL_ENV"); !venv.empty())
        packages.push_back(venv + "/lib/python3*/site-packages");
    if (const std::string conda = environment("CONDA_PREFIX"); !conda.empty())
        packages.push_back(conda + "/lib/python3*/site-packages");
    if (const std::string home = environment("HOME"); !home.empty())
        packages.push_back(home + "/.local/lib/python3*/site-packages");
    for (const char* system : {"/usr/lib/python3/dist-packages", "/usr/local/lib/python3*/dist-packages",
                               "/usr/local/lib/python3*/site-packages"})
        packages.emplace_back(system);
    return packages;
}

std::vector<std::string> loader_directories()
{
    std::vector<std::string> directories;
    std::istringstream path(environment("LD_LIBRARY_PATH"));
    for (std::string directory; std::getline(path, directory, ':');)
        add_once(directories, directory);
    read_loader_configuration("/etc/ld.so.conf", k_deepest_include, directories);
    for (const char* directory : {"/lib64", "/usr/lib64", "/lib", "/usr/lib"})
        add_once(directories, directory);
    return directories;
}

std::vector<std::string> library_directories()
{
    std::vector<std::string> all;
    for (const auto add : k_places)
        add(all);
    return all;
}

std::string find_library(const std::vector<std::string>& names)
{
    for (const auto add : k_places) {
        std::vector<std::string> directories;
        add(directories);
        for (const std::string& directory : directories)
            for (const std::string& name : names)
                if (const std::string path = directory + "/" + name; ::access(path.c_str(), F_OK) == 0)
                    return real_path(path);
    }
    return {};
}

std::vector<std::string> files_matching(const std::vector<std::string>& directories, const std::string& glob)
{
    std::vector<std::string> files;
    for (const std::string& directory : directories) {
        std::vector<std::string> here = expand(directory + "/" + glob);
        std::sort(here.begin(), here.end(), [](const auto& a, const auto& b) { return version_less(b, a); });
        for (const std::string& file : here)
            add_once(files, real_path(file));
    }
    return files;
}

}  // namespace hearth
