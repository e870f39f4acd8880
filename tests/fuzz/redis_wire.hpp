#pragma once

#include "tiers/redis/resp.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::fuzz {

using tiers::redis::Reply;

inline Reply integer(std::int64_t value)
{
    Reply reply;
    reply.kind = Reply::Kind::integer;
    reply.integer = value;
    return reply;
}

inline Reply text(std::string value)
{
    Reply reply;
    reply.kind = Reply::Kind::bulk;
    reply.text = std::move(value);
    return reply;
}

inline Reply array(std::vector<Reply> elements)
{
    Reply reply;
    reply.kind = Reply::Kind::array;
    reply.elements = std::move(elements);
    return reply;
}

// As a server would send it. A bulk string that is a whole reply has its content in `bytes`, others in `text`.
inline std::string on_the_wire(const Reply& reply)
{
    using Kind = Reply::Kind;
    switch (reply.kind) {
    case Kind::nil:
        return "$-1\r\n";
    case Kind::integer:
        return ":" + std::to_string(reply.integer) + "\r\n";
    case Kind::status:
        return "+" + reply.text + "\r\n";
    case Kind::error:
        return "-" + reply.text + "\r\n";
    case Kind::bulk: {
        const std::string_view content = reply.bytes.empty() ? std::string_view(reply.text) : reply.bytes.text();
        return "$" + std::to_string(content.size()) + "\r\n" + std::string(content) + "\r\n";
    }
    case Kind::array:
        break;
    }
    std::string out = "*" + std::to_string(reply.elements.size()) + "\r\n";
    for (const Reply& element : reply.elements)
        out += on_the_wire(element);
    return out;
}

inline bool same(const Reply& a, const Reply& b)
{
    return a.kind == b.kind && a.integer == b.integer && a.text == b.text && a.bytes == b.bytes &&
           std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(), b.elements.end(),
                      [](const auto& one, const auto& other) { return same(one, other); });
}

// Gives the reader what it has room for, at most so many bytes, and takes them from `bytes`.
inline void feed(tiers::redis::ReplyReader& reader, std::string_view& bytes, std::size_t most = SIZE_MAX)
{
    std::size_t given = 0;
    for (const iovec& room : reader.room()) {
        const std::size_t part = std::min({room.iov_len, most - given, bytes.size()});
        std::memcpy(room.iov_base, bytes.data(), part);
        bytes.remove_prefix(part);
        given += part;
    }
    reader.received(given);
}

// The first reply in these bytes; none when they hold none. An error reply is one.
inline std::optional<Reply> first_reply(std::string_view bytes)
{
    tiers::redis::ReplyReader reader("server:1");
    Reply reply;
    while (true) {
        const Result<bool> whole = reader.next(reply, 1U << 20U);
        if (!whole.ok() || (!*whole && bytes.empty()))
            return std::nullopt;
        if (*whole)
            return reply;
        feed(reader, bytes);
    }
}

}  // namespace hearth::fuzz
