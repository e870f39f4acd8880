#pragma once

#include "hearth/result.hpp"
#include "tiers/redis/command.hpp"
#include "tiers/redis/redis_settings.hpp"
#include "tiers/redis/redis_socket.hpp"
#include "tiers/redis/reply.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace hearth::tiers::redis {

// What came of sending several commands.
struct Exchange {
    std::size_t answered = 0;    // of them, from the first on
    std::optional<Error> error;  // why there are no more answers; none and not all answered: ask the rest elsewhere
    bool heard = false;          // a byte of an answer arrived
    bool reusable = false;       // nothing is due on the connection: it may serve others
};

// One connection, logged in. Not thread safe. Ownership: of its socket.
// Cost of an exchange: one write and one read where the replies are small and come soon; a bulk string is read straight
// to where it stays.
class Connection {
public:
    static Result<std::unique_ptr<Connection>> open(const RedisSettings& settings, const Endpoint& endpoint,
                                                    SteadyTime deadline);

    // Sends the commands and reads their answers at the same time, so that neither side waits for the other to read.
    Exchange exchange(std::span<Task* const> tasks, SteadyTime deadline);
    // See Socket::is_quiet(). Not asked again of one that has just been used: it is a system call.
    bool is_quiet() const;
    void note_use() { m_last_used = std::chrono::steady_clock::now(); }
    int descriptor() const { return m_socket.descriptor(); }

private:
    Connection(Socket socket, std::string address) : m_socket(std::move(socket)), m_address(std::move(address)) {}

    Status log_in(const RedisSettings& settings, SteadyTime deadline);
    std::string_view buffered() const { return {m_buffer.data() + m_begin, m_end - m_begin}; }
    // At least one more byte, to `first` as far as it reaches and then to the buffer, sending meanwhile what is unsent.
    Result<std::size_t> receive(std::span<std::byte> first, SteadyTime deadline);
    Status receive_more(SteadyTime deadline);
    Status send_some();

    // An Error here ends the connection; one that belongs to the task alone stands in its answer.
    Status read_answer(Task& task, SteadyTime deadline);
    Status read_bulk(Task& task, SteadyTime deadline);
    Status read_body(std::span<std::byte> body, SteadyTime deadline);
    Status read_line(Task& task, SteadyTime deadline);
    Status read_array(Task& task, SteadyTime deadline);
    Status discard(std::size_t bytes, SteadyTime deadline);
    void answer(Task& task, Reply reply) const;

    static constexpr std::size_t k_buffer_bytes = 16384;
    static constexpr std::chrono::milliseconds k_just_used{10};

    Socket m_socket;
    SteadyTime m_last_used{};
    std::string m_address;
    ReplyDecoder m_decoder;
    CommandBuffer m_out;
    short m_write_wants = 0;       // what sending waits for; 0: nothing unsent, or it may go on at once
    bool m_answer_is_far = false;  // everything was just sent: no use in reading without waiting
    bool m_heard = false;
    bool m_cut_off = false;  // an answer was refused and not read: the connection cannot go on
    std::size_t m_begin = 0;
    std::size_t m_end = 0;
    std::array<char, k_buffer_bytes> m_buffer;
};

}  // namespace hearth::tiers::redis
