#include "tiers/http/dialect.hpp"

#include <algorithm>
#include <fstream>

namespace hearth::tiers::http {

namespace {

constexpr std::size_t k_max_name = 128;
constexpr std::size_t k_max_small_file = 1U << 20U;

bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
}

std::string encoded(std::string_view text, bool keep_slashes)
{
    static constexpr char k_digits[] = "0123456789ABCDEF";
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        if (is_plain(c) || c == '~' || (keep_slashes && c == '/')) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += '%';
        out += k_digits[byte >> 4U];
        out += k_digits[byte & 15U];
    }
    return out;
}

}  // namespace

bool is_name(std::string_view name)
{
    return !name.empty() && name.size() <= k_max_name && name.front() != '.' &&
           std::all_of(name.begin(), name.end(), is_plain);
}

std::string encoded_path(std::string_view path)
{
    return encoded(path, true);
}

std::string encoded_query(std::string_view text)
{
    return encoded(text, false);
}

std::optional<std::string> read_small_file(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return std::nullopt;
    std::string content(k_max_small_file, '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    // A folder opens, and cannot be read.
    if (file.bad())
        return std::nullopt;
    content.resize(static_cast<std::size_t>(file.gcount()));
    return content;
}

}  // namespace hearth::tiers::http
