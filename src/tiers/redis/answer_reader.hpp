#pragma once

#include "hearth/result.hpp"
#include "remote/remote_store.hpp"
#include "tiers/redis/command.hpp"
#include "tiers/redis/reply.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <sys/uio.h>

namespace hearth::tiers::redis {

using remotes::SteadyTime;

// Where answers come from.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    // At least one byte more, to the targets in their order; answers how many.
    virtual Result<std::size_t> receive(std::span<const iovec> targets, SteadyTime deadline) = 0;
};

// Makes answers of the bytes of one connection.
// Not thread safe. Ownership: the source outlives it.
// Cost: a bulk string is read straight to where it stays; all else passes through one buffer.
class AnswerReader {
public:
    AnswerReader(ByteSource& source, std::string address) : m_source(source), m_address(std::move(address)) {}

    // The answer to the next task. An Error here ends the connection; one that belongs to the task alone stands in its
    // answer.
    Status read(Task& task, SteadyTime deadline);
    // No bytes are left over.
    bool is_drained() const { return m_begin == m_end; }
    // An answer was refused and not read: the connection cannot go on.
    bool is_cut_off() const { return m_cut_off; }

private:
    std::string_view buffered() const { return {m_buffer.data() + m_begin, m_end - m_begin}; }
    // At least one more byte, to `first` as far as it reaches and then to the buffer.
    Result<std::size_t> receive(std::span<std::byte> first, SteadyTime deadline);
    Status receive_more(SteadyTime deadline);

    Status read_bulk(Task& task, SteadyTime deadline);
    Status read_body(std::span<std::byte> body, SteadyTime deadline);
    Status read_line(Task& task, SteadyTime deadline);
    Status read_array(Task& task, SteadyTime deadline);
    Status discard(std::size_t bytes, SteadyTime deadline);
    void answer(Task& task, Reply reply) const;

    static constexpr std::size_t k_buffer_bytes = 16384;

    ByteSource& m_source;
    const std::string m_address;
    ReplyDecoder m_decoder;
    bool m_cut_off = false;
    std::size_t m_begin = 0;
    std::size_t m_end = 0;
    std::array<char, k_buffer_bytes> m_buffer;
};

}  // namespace hearth::tiers::redis
