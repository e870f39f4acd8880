#pragma once

#include "hearth/bytes.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace hearth::tiers::redis {

struct Reply {
    enum class Kind : std::uint8_t { nil, integer, status, error, bulk, array };

    Kind kind = Kind::nil;
    std::int64_t integer = 0;
    std::string text;  // of a status, of an error, and of a bulk string within an array
    Bytes bytes;       // of a bulk string that is the whole reply
    std::vector<Reply> elements;

    bool is_ok() const { return kind == Kind::status && text == "OK"; }
};

// Decodes lines and arrays with hiredis's reader. Bulk strings that are a whole reply never come here: a connection
// reads them straight to where they stay.
// What a reply may take is bounded before memory is: k_max_bytes on the wire, k_max_elements of them in all, and
// arrays grow as their elements arrive, however many they announce. Not thread safe.
class ReplyDecoder {
public:
    static constexpr std::size_t k_max_bytes = 16U << 20U;
    static constexpr std::size_t k_max_elements = 1U << 19U;

    ReplyDecoder();
    ~ReplyDecoder();
    ReplyDecoder(const ReplyDecoder&) = delete;
    ReplyDecoder& operator=(const ReplyDecoder&) = delete;

    enum class State : std::uint8_t { more, whole, broken };
    // More of the reply. After `whole` it stands in `reply`, and the next call begins another. `broken` is for good.
    State feed(std::string_view bytes, Reply& reply);
    // Bytes fed beyond the reply that became whole: nobody asked for them.
    std::size_t left_over() const;
    const std::string& why_broken() const { return m_why; }

private:
    struct Builder;
    bool waits_for_too_much() const;
    State broken(std::string why);

    std::unique_ptr<Builder> m_builder;
    redisReader* m_reader = nullptr;
    std::size_t m_fed = 0;
    std::string m_why;
};

// "<length>\r\n", which follows the '$' of a bulk string.
struct BulkHeader {
    enum class State : std::uint8_t { more, whole, broken };
    State state = State::more;
    std::int64_t length = 0;  // -1: nil
    std::size_t size = 0;     // of the header itself
};
BulkHeader parse_bulk_header(std::string_view bytes);

}  // namespace hearth::tiers::redis
