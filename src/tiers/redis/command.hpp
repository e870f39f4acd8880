#pragma once

#include "hearth/bytes.hpp"
#include "hearth/result.hpp"
#include "tiers/redis/reply.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <sys/uio.h>
#include <vector>

namespace hearth::tiers::redis {

// One command's words. They are the caller's, and outlive it.
struct Command {
    static constexpr std::size_t k_max_words = 8;

    std::array<std::string_view, k_max_words> words;
    std::size_t count = 0;
    std::string_view key;  // where in a cluster it belongs; empty: anywhere

    Command() = default;
    Command(std::string_view key_of_all, std::initializer_list<std::string_view> list)
        : count(list.size()), key(key_of_all)
    {
        std::size_t at = 0;
        for (const std::string_view word : list)
            words[at++] = word;
    }

    std::size_t bytes() const
    {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < count; ++i)
            sum += words[i].size();
        return sum;
    }
};

// A command with what came of it.
struct Task {
    Command command;
    std::uint64_t max_bytes = 0;     // a longer bulk string is refused before memory is taken for it
    Result<Reply> answer = Reply{};  // never an error reply: that is an Error, its words in `refusal`
    std::string refusal;
    bool repeated = false;  // sent twice, because a connection ended before it answered: the first may have arrived
};

// Commands on their way out, in the protocol's form. Large words are sent from where they lie.
// Not thread safe. Cost: no allocation once it has been used for commands as long as these.
class CommandBuffer {
public:
    void clear();
    void add(const Command& command);
    bool empty() const { return m_left == 0; }
    // What is left to send, as far as it fits; answers how many parts that are.
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
    std::size_t m_first = 0;  // the first piece not sent whole
    std::size_t m_left = 0;
};

}  // namespace hearth::tiers::redis
