#include "compilers/nvrtc/headers_section.hpp"

#include "base/hex.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

namespace hearth::nvrtc {

namespace {

// The label "I:cub/util.h" for people, who do not know what the letter means.
std::string readable(std::string_view label)
{
    static constexpr std::string_view k_places = "PCIAH";
    static constexpr std::array k_names{"beside the program", "in the working directory", "in an include directory",
                                        "by its absolute path", "beside a given header"};
    const std::size_t place = label.size() < 2 ? std::string_view::npos : k_places.find(label[0]);
    if (place == std::string_view::npos)
        return std::string(label);
    return fmt::format("header {} ({})", label.substr(2), k_names[place]);
}

std::map<std::string_view, std::string_view> by_label(std::string_view section)
{
    std::map<std::string_view, std::string_view> digests;
    while (!section.empty()) {
        const std::string_view line = base::take_until('\n', section);
        if (const std::size_t space = line.find(' '); space != std::string_view::npos)
            digests.emplace(line.substr(space + 1), line.substr(0, space));
    }
    return digests;
}

}  // namespace

std::string headers_section(const format::Manifest& manifest)
{
    std::string list;
    for (const format::ManifestFile& file : manifest.files)
        list += fmt::format("{} {}\n", base::to_hex(std::as_bytes(std::span(file.digest)).first(8)), file.label);
    return list;
}

std::vector<Difference> compare_headers(std::string_view here, std::string_view there)
{
    const auto ours = by_label(here);
    const auto theirs = by_label(there);
    std::vector<Difference> differences;
    for (const auto& [label, digest] : ours) {
        const auto other = theirs.find(label);
        if (other == theirs.end())
            differences.push_back({readable(label), std::string(digest), {}});
        else if (other->second != digest)
            differences.push_back({readable(label), std::string(digest), std::string(other->second)});
    }
    for (const auto& [label, digest] : theirs)
        if (!ours.contains(label))
            differences.push_back({readable(label), {}, std::string(digest)});
    return differences;
}

}  // namespace hearth::nvrtc
