#include "cache/key_argument.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace hearth::cli {

Request exact_key(std::string_view text)
{
    if (const auto key = Key::parse(text))
        return {*key, {}};
    return Request::of("user", text);
}

bool is_key_prefix(std::string_view text)
{
    return text.size() >= k_shortest_prefix && text.size() <= 64 &&
           std::all_of(text.begin(), text.end(), [](char c) { return std::isxdigit(static_cast<unsigned char>(c)); });
}

bool begins_with(const Key& key, std::string_view prefix)
{
    const std::string digits = key.hex();
    return prefix.size() <= digits.size() &&
           std::equal(prefix.begin(), prefix.end(), digits.begin(),
                      [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

}  // namespace hearth::cli
