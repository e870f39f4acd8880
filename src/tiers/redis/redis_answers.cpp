#include "tiers/redis/redis_answers.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace hearth::tiers::redis {

namespace {

constexpr std::size_t k_longest_host = 255;
// What a server calls a node whose host it does not know yet.
constexpr std::string_view k_unknown_host = "?";

constexpr std::array<std::uint16_t, 256> make_crc_table()
{
    std::array<std::uint16_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
        std::uint32_t crc = byte << 8U;
        for (int bit = 0; bit < 8; ++bit)
            crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
        table[byte] = static_cast<std::uint16_t>(crc);
    }
    return table;
}

constexpr std::array<std::uint16_t, 256> k_crc_table = make_crc_table();

Error unusable(std::string_view why)
{
    return error(Code::corrupt, "its map of slots cannot be used: {}", why);
}

bool is_host(std::string_view text)
{
    return text.size() <= k_longest_host && text != k_unknown_host &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool is_cursor(std::string_view text)
{
    return text.size() <= 20 && base::parse_number<std::uint64_t>(text);
}

bool is_unknown(const Reply& node)
{
    return !node.elements.empty() && node.elements[0].text == k_unknown_host;
}

std::optional<Endpoint> node_in(const Reply& reply, const Endpoint& asked)
{
    if (reply.kind != Reply::Kind::array || reply.elements.size() < 2)
        return std::nullopt;
    const Reply& host = reply.elements[0];
    const Reply& port = reply.elements[1];
    if ((host.kind != Reply::Kind::bulk && host.kind != Reply::Kind::nil) || !is_host(host.text) ||
        port.kind != Reply::Kind::integer || port.integer < 1 || port.integer > 65535)
        return std::nullopt;
    return Endpoint{host.text.empty() ? asked.host : host.text, static_cast<std::uint16_t>(port.integer), {}};
}

}  // namespace

std::uint16_t crc16(std::string_view bytes)
{
    std::uint32_t crc = 0;
    for (const char byte : bytes)
        crc = (crc << 8U) ^ k_crc_table[((crc >> 8U) ^ static_cast<unsigned char>(byte)) & 0xFFU];
    return static_cast<std::uint16_t>(crc);
}

std::uint16_t slot_of(std::string_view key)
{
    if (const std::size_t open = key.find('{'); open != std::string_view::npos)
        if (const std::size_t close = key.find('}', open + 1); close != std::string_view::npos && close > open + 1)
            key = key.substr(open + 1, close - open - 1);
    return crc16(key) % k_slots;
}

Result<SlotMap> parse_slots(const Reply& reply, const Endpoint& asked)
{
    if (reply.kind != Reply::Kind::array)
        return unusable("it is no list");
    if (reply.elements.size() > k_slots)
        return unusable(fmt::format("it has {} ranges, and there are {} slots", reply.elements.size(), k_slots));
    SlotMap map;
    map.owner.fill(SlotMap::k_nobody);
    std::map<Endpoint, std::uint16_t> numbers;
    for (const Reply& range : reply.elements) {
        if (range.kind != Reply::Kind::array || range.elements.size() < 3 ||
            range.elements[0].kind != Reply::Kind::integer || range.elements[1].kind != Reply::Kind::integer)
            return unusable("a range is not two numbers and a node");
        const std::int64_t first = range.elements[0].integer;
        const std::int64_t last = range.elements[1].integer;
        if (first < 0 || last < first || last >= static_cast<std::int64_t>(k_slots))
            return unusable(fmt::format("a range goes from {} to {}", first, last));
        // Its slots have no owner until a later map names one.
        if (is_unknown(range.elements[2]))
            continue;
        const std::optional<Endpoint> master = node_in(range.elements[2], asked);
        if (!master)
            return unusable("a node is not a host and a port");
        const auto [found, is_new] = numbers.emplace(*master, static_cast<std::uint16_t>(map.masters.size()));
        if (is_new)
            map.masters.push_back(*master);
        for (std::size_t i = 3; i < range.elements.size() && map.replicas.size() < SlotMap::k_max_nodes; ++i)
            if (const std::optional<Endpoint> replica = node_in(range.elements[i], asked); is_new && replica)
                map.replicas.push_back(*replica);
        if (map.masters.size() > SlotMap::k_max_nodes)
            return unusable(fmt::format("it names more than {} masters", SlotMap::k_max_nodes));
        for (std::int64_t slot = first; slot <= last; ++slot)
            map.owner[static_cast<std::size_t>(slot)] = found->second;
    }
    return map;
}

std::optional<Redirection> parse_redirection(std::string_view words, const Endpoint& asked)
{
    Redirection redirection;
    if (words.starts_with("MOVED "))
        words.remove_prefix(6);
    else if (words.starts_with("ASK "))
        words.remove_prefix(4), redirection.kind = Redirection::Kind::ask;
    else
        return std::nullopt;
    const std::size_t blank = words.find(' ');
    // An IPv6 address has colons too, and is not in brackets here.
    const std::size_t colon = words.rfind(':');
    if (blank == std::string_view::npos || colon == std::string_view::npos || colon < blank)
        return std::nullopt;
    const auto slot = base::parse_number<std::uint16_t>(words.substr(0, blank));
    const std::string_view host = words.substr(blank + 1, colon - blank - 1);
    const auto port = base::parse_number<std::uint16_t>(words.substr(colon + 1));
    if (!slot || *slot >= k_slots || !port || *port == 0 || !is_host(host))
        return std::nullopt;
    redirection.slot = *slot;
    redirection.to = {host.empty() ? asked.host : std::string(host), *port, {}};
    return redirection;
}

std::optional<ScanPage> parse_scan(const Reply& reply, std::string_view prefix)
{
    const std::vector<Reply>& parts = reply.elements;
    if (parts.size() != 2 || !is_cursor(parts[0].text) || parts[1].kind != Reply::Kind::array)
        return std::nullopt;
    ScanPage page{parts[0].text, {}};
    for (const Reply& key : parts[1].elements) {
        const std::string_view text = key.text;
        if (text.starts_with(prefix) && remotes::is_name(text.substr(prefix.size())))
            page.names.push_back(text.substr(prefix.size()));
    }
    return page;
}

std::string version_in(std::string_view info)
{
    constexpr std::string_view k_field = "redis_version:";
    const std::size_t at = info.find(k_field);
    if (at == std::string_view::npos)
        return {};
    const std::string_view rest = info.substr(at + k_field.size());
    return base::printable(rest.substr(0, std::min<std::size_t>(rest.find_first_of("\r\n"), 32)));
}

}  // namespace hearth::tiers::redis
