#include "compilers/command/linked_paths.hpp"

#include "watch/tree_record.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <sys/resource.h>

namespace hearth::command {

namespace {

namespace fs = std::filesystem;

// Where descriptors are rarely in a program's way, and below the recorder's own.
constexpr int k_first_link = 640;
constexpr std::size_t k_most_links = 48;

// The source's directory, then the others.
std::vector<std::string> linked_places(const watch::Places& places)
{
    std::vector<std::string> all{places.program_directory};
    all.insert(all.end(), places.directories.begin(), places.directories.end());
    return all;
}

// A compiler says of a file that it is no directory, and of what is not there nothing.
bool can_be_linked(const std::string& path)
{
    std::error_code none;
    return without_last_slash(path) != "/" &&
           (!path.starts_with('/') || fs::is_directory(path, none) || !fs::exists(path, none));
}

bool has_descriptors()
{
    rlimit limit{};
    std::error_code none;
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > k_first_link + k_most_links &&
           fs::is_directory(watch::k_linked_directory, none);
}

// Words of files of arguments and of variables cannot be changed.
bool names_all(const Call& call)
{
    const auto is_input = [](const Named& named) { return named.what != Named::What::output; };
    return std::ranges::count_if(call.named, is_input) ==
           static_cast<std::ptrdiff_t>(call.sources.size() + call.directories.size());
}

}  // namespace

std::vector<FixedPath> linked_paths(const Call& call, const watch::Places& places)
{
    const std::vector<std::string> paths = linked_places(places);
    if (!call.is_for_device || call.sources.size() != 1 || call.dependencies || !names_all(call) ||
        paths.size() > k_most_links || !has_descriptors() || !std::ranges::all_of(paths, can_be_linked))
        return {};
    std::vector<FixedPath> links{{places.working_directory, watch::k_linked_directory}};
    for (std::size_t i = 0; i < paths.size(); ++i)
        if (paths[i].starts_with('/')) {
            const int descriptor = k_first_link + static_cast<int>(i);
            links.push_back({without_last_slash(paths[i]), fmt::format("{}{}", watch::k_linked_descriptors, descriptor),
                             descriptor});
        }
    return links;
}

std::vector<std::string> names_of_links(const watch::Places& places, const std::vector<FixedPath>& links)
{
    std::vector<std::string> names = linked_places(places);
    for (const FixedPath& link : links)
        if (link.descriptor >= 0)
            names[static_cast<std::size_t>(link.descriptor - k_first_link)].replace(0, link.path.size(), link.name);
    return names;
}

std::vector<std::string> through_links(std::vector<std::string> words, const Call& call,
                                       const std::vector<FixedPath>& links)
{
    for (const Named& named : call.named) {
        const std::size_t place = named.what == Named::What::source ? 0 : named.index + 1;
        const auto link = std::ranges::find(links, k_first_link + static_cast<int>(place), &FixedPath::descriptor);
        if (named.what != Named::What::output && link != links.end())
            words[named.argument + 1].replace(named.at, link->path.size(), link->name);
    }
    return words;
}

std::string without_links(std::string text, const std::vector<FixedPath>& links)
{
    for (const FixedPath& link : links)
        for (std::size_t at = 0; (at = text.find(link.name, at)) != std::string::npos; at += link.path.size())
            text.replace(at, link.name.size(), link.path);
    return text;
}

}  // namespace hearth::command
