#pragma once

#include "hearth/result.hpp"
#include "tiers/redis/answer_reader.hpp"
#include "tiers/redis/command.hpp"
#include "tiers/redis/redis_settings.hpp"
#include "tiers/redis/redis_socket.hpp"

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
// Cost of an exchange: one write and one read where the replies are small and come soon.
class Connection final : ByteSource {
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
    Connection(Socket socket, const std::string& address)
        : m_socket(std::move(socket)), m_address(address), m_answers(*this, address)
    {
    }

    Status log_in(const RedisSettings& settings, SteadyTime deadline);
    Result<std::size_t> receive(std::span<const iovec> targets, SteadyTime deadline) override;
    Status send_some();

    static constexpr std::chrono::milliseconds k_just_used{10};

    Socket m_socket;
    SteadyTime m_last_used{};
    const std::string m_address;
    AnswerReader m_answers;
    CommandBuffer m_out;
    short m_write_wants = 0;       // what sending waits for; 0: nothing unsent, or it may go on at once
    bool m_answer_is_far = false;  // everything was just sent: no use in reading without waiting
    bool m_heard = false;
};

}  // namespace hearth::tiers::redis
