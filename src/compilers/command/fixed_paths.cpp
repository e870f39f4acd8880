#include "compilers/command/fixed_paths.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace hearth::command {

namespace {

namespace fs = std::filesystem;

bool is_below(std::string_view path, std::string_view directory)
{
    return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

// The working directory as compilers call it: by PWD, if that leads there.
std::string logical_directory(const std::string& working_directory)
{
    const char* const logical = std::getenv("PWD");
    std::error_code none;
    return logical != nullptr && fs::equivalent(logical, working_directory, none) ? logical : working_directory;
}

// All places, as they were given, and what may be written for them.
std::vector<FixedPath> named_places(const watch::Places& places)
{
    std::vector<FixedPath> all{{places.working_directory, "."},
                               {logical_directory(places.working_directory), "."},
                               {places.program_directory, "/hearth/source"}};
    for (std::size_t i = 0; i < places.directories.size(); ++i)
        all.push_back({places.directories[i], fmt::format("/hearth/include/{}", i)});
    return all;
}

// Which of two that fit is taken differs between compilers: only the one that is above the other is named.
void add_fixed(std::vector<FixedPath>& fixed, FixedPath place)
{
    place.path = without_last_slash(std::move(place.path));
    if (!place.path.starts_with('/') || place.path == "/" ||
        std::ranges::any_of(fixed, [&](const FixedPath& each) { return is_below(place.path, each.path); }))
        return;
    std::erase_if(fixed, [&](const FixedPath& each) { return is_below(each.path, place.path); });
    fixed.push_back(std::move(place));
}

std::string name_of(const std::string& path, const std::vector<FixedPath>& fixed)
{
    for (const FixedPath& each : fixed)
        if (is_below(path, each.path))
            return each.name + path.substr(each.path.size());
    return path;
}

// Every whole path by which a compiler may write a place.
std::set<std::string> paths_of(const watch::Places& places)
{
    std::set<std::string> all;
    for (const FixedPath& place : named_places(places)) {
        const fs::path path = fs::path(places.working_directory) / place.path;
        std::error_code none;
        for (const fs::path& form : {path, path.lexically_normal(), fs::canonical(path, none)})
            all.insert(without_last_slash(form.string()));
    }
    all.erase("");
    all.erase("/");
    return all;
}

}  // namespace

std::string without_last_slash(std::string path)
{
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
    return path;
}

std::vector<FixedPath> fixed_paths(const watch::Places& places)
{
    std::vector<FixedPath> fixed;
    for (FixedPath& place : named_places(places))
        add_fixed(fixed, std::move(place));
    if (std::ranges::any_of(fixed, [](const FixedPath& each) { return each.path.find('=') != std::string::npos; }))
        fixed.clear();
    return fixed;
}

std::vector<std::string> options_of(const std::vector<FixedPath>& fixed)
{
    std::vector<std::string> options;
    options.reserve(fixed.size());
    for (const FixedPath& each : fixed)
        options.push_back(fmt::format("-ffile-prefix-map={}={}", each.path, each.name));
    return options;
}

std::vector<std::string> names_of(const watch::Places& places, const std::vector<FixedPath>& fixed)
{
    std::vector<std::string> names;
    for (const FixedPath& place : named_places(places))
        names.push_back(name_of(place.path, fixed));
    return names;
}

bool holds_place(std::string_view text, const watch::Places& places)
{
    const std::set<std::string> all = paths_of(places);
    return std::ranges::any_of(all, [&](const std::string& path) { return text.find(path) != std::string_view::npos; });
}

}  // namespace hearth::command
