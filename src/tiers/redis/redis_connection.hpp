#pragma once

#include "hearth/result.hpp"
#include "tiers/redis/redis_settings.hpp"
#include "tiers/redis/redis_socket.hpp"
#include "tiers/redis/resp.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace hearth::tiers::redis {

// A command and its result.
struct Task {
    Command command;
    std::uint64_t max_bytes = 0;     // a longer bulk string is refused before memory is allocated for it
    Result<Reply> answer = Reply{};  // an error reply becomes an Error here, with its words in `refusal`
    std::string refusal;
    bool repeated = false;  // sent twice, because a connection ended before the answer: the first may have arrived
};

// The result of sending several commands.
struct Exchange {
    std::size_t answered = 0;    // how many of the commands, from the first on
    std::optional<Error> error;  // why there are no more answers; none though some are missing: send the rest elsewhere
    bool heard = false;          // a byte of an answer arrived
    bool reusable = false;       // no answer is outstanding: the connection may be used again
};

// One connection, logged in. Not thread safe. Ownership: of its socket.
// Cost of an exchange: one write and one read if the replies are small and come soon.
class Connection {
public:
    static Result<std::unique_ptr<Connection>> open(const RedisSettings& settings, const Endpoint& endpoint,
                                                    SteadyTime deadline);

    // Sends the commands and reads their answers at the same time, so that neither side waits for the other to read.
    Exchange exchange(std::span<Task* const> tasks, SteadyTime deadline);
    // See Socket::is_quiet(). A connection that has just been used is not asked again, since that is a system call.
    bool is_quiet() const;
    void note_use() { m_last_used = std::chrono::steady_clock::now(); }
    int descriptor() const { return m_socket.descriptor(); }

private:
    Connection(Socket socket, const std::string& address)
        : m_socket(std::move(socket)), m_address(address), m_replies(address)
    {
    }

    Status log_in(const RedisSettings& settings, SteadyTime deadline);
    // An Error here ends the connection; an error of the task alone is in its answer.
    Status read_answer(Task& task, SteadyTime deadline);
    Status receive(SteadyTime deadline);
    Status send_some();
    Error ended(const Transfer& transfer);

    static constexpr std::chrono::milliseconds k_just_used{10};

    Socket m_socket;
    SteadyTime m_last_used{};
    const std::string m_address;
    ReplyReader m_replies;
    CommandBuffer m_out;
    short m_write_wants = 0;       // what sending waits for; 0: nothing unsent, or it may go on at once
    bool m_answer_is_far = false;  // everything was just sent, so a read without waiting would find nothing
    bool m_heard = false;
};

}  // namespace hearth::tiers::redis
