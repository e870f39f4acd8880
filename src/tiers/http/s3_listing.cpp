#include "tiers/http/s3_listing.hpp"

#include "base/error.hpp"
#include "tiers/http/dialect.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <utility>

namespace hearth::tiers::http {

namespace {

constexpr std::size_t k_max_error_code = 64;
constexpr std::size_t k_max_reference = 10;  // "&#1114111;"
constexpr std::size_t k_max_token = 8192;    // what goes on in a request has to fit into one

Error not_a_listing(std::string_view why)
{
    return error(Code::corrupt, "A list of objects from S3 cannot be read: {}.", why);
}

// What stands between <name> and </name>, from `at` on, which moves behind it.
std::optional<std::string_view> element(std::string_view xml, std::string_view name, std::size_t& at)
{
    const std::string open = fmt::format("<{}>", name);
    const std::string close = fmt::format("</{}>", name);
    const std::size_t begin = xml.find(open, at);
    if (begin == std::string_view::npos)
        return std::nullopt;
    const std::size_t end = xml.find(close, begin + open.size());
    if (end == std::string_view::npos)
        return std::nullopt;
    at = end + close.size();
    return xml.substr(begin + open.size(), end - begin - open.size());
}

std::optional<std::string_view> element(std::string_view xml, std::string_view name)
{
    std::size_t at = 0;
    return element(xml, name, at);
}

std::string utf8(std::uint32_t code)
{
    std::string out;
    const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80U | ((code >> shift) & 0x3FU)); };
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xC0U | (code >> 6U));
        tail(0);
    } else if (code < 0x10000) {
        out += static_cast<char>(0xE0U | (code >> 12U));
        tail(6);
        tail(0);
    } else {
        out += static_cast<char>(0xF0U | (code >> 18U));
        tail(12);
        tail(6);
        tail(0);
    }
    return out;
}

// Of what stands between '&' and ';'.
std::optional<std::string> referred(std::string_view name)
{
    static constexpr std::array<std::pair<std::string_view, char>, 5> k_named = {
        {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}}};
    for (const auto& [known, character] : k_named)
        if (name == known)
            return std::string(1, character);
    if (!name.starts_with('#'))
        return std::nullopt;
    const bool hexadecimal = name.starts_with("#x");
    name.remove_prefix(hexadecimal ? 2 : 1);
    std::uint32_t code = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), code, hexadecimal ? 16 : 10);
    const bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;  // half a character, in UTF-16 alone
    if (error != std::errc{} || end != name.data() + name.size() || code == 0 || code > 0x10FFFF || is_surrogate)
        return std::nullopt;
    return utf8(code);
}

}  // namespace

std::string decoded_entities(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t ampersand = std::min(text.find('&'), text.size());
        out += text.substr(0, ampersand);
        text.remove_prefix(ampersand);
        if (text.empty())
            break;
        const std::size_t semicolon = text.substr(0, k_max_reference).find(';');
        const std::optional<std::string> character =
            semicolon == std::string_view::npos ? std::nullopt : referred(text.substr(1, semicolon - 1));
        out += character ? *character : "&";
        text.remove_prefix(character ? semicolon + 1 : 1);
    }
    return out;
}

Result<ListingPage> parse_listing(std::string_view xml)
{
    const std::size_t root = xml.find("<ListBucketResult");
    const std::size_t end = xml.rfind("</ListBucketResult>");
    if (root == std::string_view::npos || end == std::string_view::npos || end < root) {
        // An empty one may be written without an end tag of its own; no server known does.
        return not_a_listing("it has no whole ListBucketResult");
    }
    xml = xml.substr(root, end - root);
    ListingPage page;
    std::size_t at = 0;
    std::string outside;  // what is left without the objects: keys may hold anything, also what looks like an element
    for (std::size_t begin = 0;;) {
        const std::size_t contents = xml.find("<Contents>", begin);
        outside += xml.substr(begin, std::min(contents, xml.size()) - begin);
        if (contents == std::string_view::npos)
            break;
        at = contents;
        const std::optional<std::string_view> object = element(xml, "Contents", at);
        if (!object)
            return not_a_listing("an object in it ends early");
        begin = at;
        const std::optional<std::string_view> key = element(*object, "Key");
        if (!key)
            return not_a_listing("an object in it has no key");
        ListedObject listed{decoded_entities(*key), 0};
        if (const std::optional<std::string_view> size = element(*object, "Size")) {
            const auto [stop, error] = std::from_chars(size->data(), size->data() + size->size(), listed.bytes);
            if (error != std::errc{} || stop != size->data() + size->size())
                return not_a_listing("the size of an object in it is not a number");
        }
        page.objects.push_back(std::move(listed));
    }
    page.truncated = element(outside, "IsTruncated") == "true";
    if (const std::optional<std::string_view> token = element(outside, "NextContinuationToken"))
        page.next_token = decoded_entities(*token);
    if (page.truncated && page.next_token.empty())
        return not_a_listing("it is truncated and does not say where to go on");
    if (page.next_token.size() > k_max_token)
        return not_a_listing(fmt::format("where it goes on is named in {} bytes, and {} are the most",
                                         page.next_token.size(), k_max_token));
    return page;
}

std::optional<std::string_view> listed_name(std::string_view key, std::string_view prefix)
{
    if (!key.starts_with(prefix))
        return std::nullopt;
    key.remove_prefix(prefix.size());
    return is_name(key) ? std::optional(key) : std::nullopt;
}

std::string error_code_of(std::string_view xml)
{
    const std::string_view code = element(xml, "Code").value_or("");
    const bool plain = code.size() <= k_max_error_code && std::all_of(code.begin(), code.end(), [](char c) {
                           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
                       });
    return plain ? std::string(code) : std::string();
}

}  // namespace hearth::tiers::http
