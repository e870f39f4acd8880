#include "cache/kernels.hpp"

#include <algorithm>
#include <string_view>

namespace hearth::cli {

namespace {

bool is_in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

// The names that follow a word, each once and in their order.
std::vector<std::string> names_after(std::string_view word, std::string_view text)
{
    std::vector<std::string> names;
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at)) {
        at += word.size();
        std::size_t end = at;
        while (end < text.size() && is_in_name(text[end]))
            ++end;
        std::string name(text.substr(at, end - at));
        if (!name.empty() && std::ranges::find(names, name) == names.end())
            names.push_back(std::move(name));
    }
    return names;
}

}  // namespace

std::vector<std::string> kernels_of(const Artifact& artifact)
{
    std::vector<std::string> names = names_after(".entry ", artifact.text("ptx"));
    // Each kernel of a CUBIN has a section for its arguments, which no other function has.
    return !names.empty() ? names : names_after(".nv.constant0.", artifact.text("cubin"));
}

}  // namespace hearth::cli
