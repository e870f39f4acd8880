#include "doctor/python_packages.hpp"

#include "hearth/libraries.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace hearth::cli {

namespace {

namespace fs = std::filesystem;

constexpr const char* k_mend = "Run: pip uninstall hearth; pip install --force-reinstall hearth_cache-VERSION.whl";

std::vector<std::string> folders_of(const char* variable)
{
    const char* const value = std::getenv(variable);
    std::istringstream words(value != nullptr ? value : "");
    std::vector<std::string> folders;
    for (std::string folder; std::getline(words, folder, ':');)
        folders.push_back(std::move(folder));
    return folders;
}

// The path by which a program would be started; empty: there is no such program.
std::string found_on_path(const std::string& program)
{
    if (program.find('/') != std::string::npos)
        return fs::absolute(program).lexically_normal().string();
    for (const std::string& folder : folders_of("PATH"))
        if (std::string file = folder + "/" + program; ::access(file.c_str(), X_OK) == 0)
            return file;
    return {};
}

// The folder of the package that this command lies in, in a wheel: site-packages/hearth/_prefix/bin/hearth.
std::string own_package_folder()
{
    std::error_code error;
    const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
    return prefix.filename() == "_prefix" ? prefix.parent_path().parent_path().string() : "";
}

std::string stranger_in(const std::string& folder)
{
    for (const char* kind : {"dist-info", "egg-info"})
        for (const std::string& found : expand(fmt::format("{}/hearth-[0-9]*.{}", folder, kind)))
            return fmt::format(
                "{} says that a distribution called \"hearth\" is installed. On PyPI that is another "
                "project; ours is \"hearth-cache\", and had that name up to 0.2.0. The files of one take "
                "the place of the other's. {}",
                in_quotes(found), k_mend);
    const std::string package = folder + "/hearth";
    if (::access((package + "/__init__.py").c_str(), F_OK) == 0 &&
        ::access((package + "/_library.py").c_str(), F_OK) != 0)
        return fmt::format("\"import hearth\" may find {}, which is not this project's. If pip installed it: {}",
                           in_quotes(package), k_mend);
    return {};
}

}  // namespace

std::vector<std::string> python_package_folders(const std::string& program)
{
    std::vector<std::string> patterns;
    for (const std::string& name : program.empty() ? std::vector<std::string>{"python3", "python"}
                                                   : std::vector<std::string>{program, "python3", "python"})
        // A virtual environment's python is a link, and it is the folder of the link that counts.
        if (const std::string file = found_on_path(name); !file.empty())
            for (const char* kind : {"site-packages", "dist-packages"})
                patterns.push_back(fs::path(file).parent_path().parent_path().string() + "/lib/python3*/" + kind);
    for (std::string& pattern : python_packages())
        patterns.push_back(std::move(pattern));
    std::vector<std::string> folders;
    for (const std::string& pattern : patterns)
        for (std::string& folder : expand(pattern))
            folders.push_back(std::move(folder));
    return folders;
}

std::vector<std::string> strangers_called_hearth()
{
    std::vector<std::string> folders = folders_of("PYTHONPATH");
    folders.push_back(own_package_folder());
    for (std::string& folder : python_package_folders(""))
        folders.push_back(std::move(folder));
    std::vector<std::string> sentences;
    std::set<std::string> seen;
    for (const std::string& folder : folders)
        if (std::error_code error; !folder.empty() && seen.insert(fs::weakly_canonical(folder, error).string()).second)
            if (std::string sentence = stranger_in(folder); !sentence.empty())
                sentences.push_back(std::move(sentence));
    return sentences;
}

}  // namespace hearth::cli
