#pragma once

#include "hearth/bytes.hpp"
#include "hearth/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/uio.h>
#include <vector>

// The protocol of redis (RESP2), both ways. Pure: no input or output.
//
//   command := "*" count CRLF ("$" length CRLF bytes CRLF)*
//   reply   := "+" words CRLF | "-" words CRLF              a status, an error
//            | ":" number CRLF
//            | "$" length CRLF bytes CRLF | "$-1" CRLF      a bulk string, nil
//            | "*" count CRLF reply* | "*-1" CRLF           an array, nil

namespace hearth::tiers::redis {

// One command's words. They belong to the caller, and must outlive the command.
struct Command {
    static constexpr std::size_t k_max_words = 8;

    std::array<std::string_view, k_max_words> words;
    std::size_t count = 0;
    std::string_view key;  // decides which node of a cluster gets it; empty: any

    Command() = default;
    Command(std::string_view key_of_all, std::initializer_list<std::string_view> list);
    std::size_t bytes() const;
};

// Commands to be sent. Large words are sent without a copy.
// Not thread safe. Cost: no allocation once it has been used for commands as long as these.
class CommandBuffer {
public:
    void clear();
    void add(const Command& command);
    bool empty() const { return m_left == 0; }
    // Sets `parts` to what is left to send, as far as it fits; returns how many parts are set.
    std::size_t left(std::span<iovec> parts) const;
    void sent(std::size_t bytes);

private:
    struct Piece {
        const char* elsewhere = nullptr;  // none: in m_text
        std::size_t offset = 0;
        std::size_t size = 0;
    };
    void add_text(std::string_view text);
    void add_length(char mark, std::size_t length);

    std::string m_text;
    std::vector<Piece> m_pieces;
    std::size_t m_first = 0;  // the first piece that is not completely sent
    std::size_t m_left = 0;
};

struct Reply {
    enum class Kind : std::uint8_t { nil, integer, status, error, bulk, array };

    Kind kind = Kind::nil;
    std::int64_t integer = 0;
    std::string text;  // of a status, of an error, and of a bulk string within an array
    Bytes bytes;       // of a bulk string that is the whole reply
    std::vector<Reply> elements;

    bool is_ok() const { return kind == Kind::status && text == "OK"; }
};

// Turns received bytes into replies, however they are split.
// Sizes are limited before memory is allocated: a bulk string by the caller, an array by the limits below and by what
// has arrived of it, whatever it announces. Not thread safe. Cost: a bulk string that is the whole reply is received
// directly into its final place; all else goes through the buffer.
class ReplyReader {
public:
    static constexpr std::size_t k_max_line = 16384;
    static constexpr std::size_t k_max_array_bytes = 16U << 20U;
    static constexpr std::size_t k_max_elements = 1U << 19U;  // of a reply, at all depths
    static constexpr std::size_t k_max_depth = 8;

    // The address is for sentences.
    explicit ReplyReader(std::string address) : m_address(std::move(address)) {}

    // Takes the next reply out of what has been received. False: more bytes are needed.
    // too_large: a bulk string of more than max_bytes; the next reply can still be read, unless is_cut_off().
    // corrupt: this is not the protocol, and nothing after it can be read.
    Result<bool> next(Reply& reply, std::uint64_t max_bytes);

    // Where to put bytes that arrive, in this order. There is always room for at least one.
    std::span<const iovec> room();
    // Says how many bytes were put there.
    void received(std::size_t bytes);

    // Nothing is left over, not even a part of a reply.
    bool is_drained() const { return m_begin == m_end && m_depth == 0 && m_body_left == 0; }
    // A refused object is too large to be read and dropped: the connection cannot go on.
    bool is_cut_off() const { return m_cut_off; }

private:
    // An array that is being read.
    struct Open {
        Reply* array;
        std::size_t left;
    };

    std::string_view buffered() const { return {m_buffer.data() + m_begin, m_end - m_begin}; }
    Result<bool> take_line(std::uint64_t max_bytes);
    Result<bool> take_body();
    Status begin_bulk(Reply& value, std::uint64_t length, std::uint64_t max_bytes);
    Status begin_array(Reply& value, std::uint64_t count);
    void end_value();
    Error broken(std::string_view why) const;

    const std::string m_address;
    Reply m_reply;
    bool m_whole = false;
    std::array<Open, k_max_depth> m_open;  // outermost first
    std::size_t m_depth = 0;
    std::size_t m_elements = 0;
    std::size_t m_array_bytes = 0;
    // Of a bulk string:
    std::size_t m_body_left = 0;       // with its CRLF; 0: a line is due
    std::span<std::byte> m_body;       // what is still to come, if it is the whole reply
    std::string* m_element = nullptr;  // where it goes, if it is in an array
    std::optional<Error> m_refusal;    // why it is read and dropped
    bool m_cut_off = false;

    std::array<iovec, 2> m_room{};
    std::size_t m_begin = 0;
    std::size_t m_end = 0;
    std::array<char, k_max_line> m_buffer;
};

}  // namespace hearth::tiers::redis
