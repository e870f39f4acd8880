#include "tiers/redis/scan_page.hpp"

#include <algorithm>

namespace hearth::tiers::redis {

namespace {

constexpr std::size_t k_longest_name = 128;
constexpr std::size_t k_longest_cursor = 20;

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool is_name(std::string_view text)
{
    return !text.empty() && text.size() <= k_longest_name && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_' || c == '.';
    });
}

bool is_cursor(std::string_view text)
{
    return !text.empty() && text.size() <= k_longest_cursor && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

std::optional<ScanPage> parse_scan(const Reply& reply, std::string_view prefix)
{
    const std::vector<Reply>& parts = reply.elements;
    if (parts.size() != 2 || !is_cursor(parts[0].text) || parts[1].kind != Reply::Kind::array)
        return std::nullopt;
    ScanPage page{parts[0].text, {}};
    for (const Reply& key : parts[1].elements) {
        const std::string_view text = key.text;
        if (text.starts_with(prefix) && is_name(text.substr(prefix.size())))
            page.names.push_back(text.substr(prefix.size()));
    }
    return page;
}

}  // namespace hearth::tiers::redis
