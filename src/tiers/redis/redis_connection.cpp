#include "tiers/redis/redis_connection.hpp"

#include "base/error.hpp"
#include "tiers/redis/redis_errors.hpp"

#include <algorithm>
#include <poll.h>
#include <system_error>

namespace hearth::tiers::redis {

namespace {

// Then the deadline is looked at.
constexpr std::size_t k_sent_at_once = 4U << 20U;

Error ended(Socket& socket, const std::string& address, const Transfer& transfer)
{
    if (std::optional<Error> refused = socket.refusal(address))
        return *std::move(refused);
    return broke_off(address, transfer.error == 0 ? "it closed the connection"
                                                  : std::generic_category().message(transfer.error));
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const RedisSettings& settings, const Endpoint& endpoint,
                                                     SteadyTime deadline)
{
    Result<Socket> socket = Socket::connect(endpoint, settings.tls.get(), settings.connect_timeout, deadline);
    HEARTH_TRY(socket);
    std::unique_ptr<Connection> made(new Connection(*std::move(socket), endpoint.shown()));
    HEARTH_TRY(made->log_in(settings, deadline));
    return made;
}

Status Connection::log_in(const RedisSettings& settings, SteadyTime deadline)
{
    Task auth;
    Task select;
    std::array<Task*, 2> tasks{};
    std::size_t count = 0;
    if (!settings.password.empty()) {
        auth.command = settings.user.empty() ? Command({}, {"AUTH", settings.password})
                                             : Command({}, {"AUTH", settings.user, settings.password});
        tasks[count++] = &auth;
    }
    const std::string database = std::to_string(settings.database);
    if (settings.database != 0) {
        select.command = Command({}, {"SELECT", database});
        tasks[count++] = &select;
    }
    if (count == 0)
        return {};
    const Exchange exchanged = exchange(std::span(tasks.data(), count), deadline);
    if (!auth.refusal.empty())
        return error_of_auth(auth.refusal, m_address);
    if (exchanged.error)
        return *exchanged.error;
    HEARTH_TRY(auth.answer);
    HEARTH_TRY(select.answer);
    return {};
}

Exchange Connection::exchange(std::span<Task* const> tasks, SteadyTime deadline)
{
    Exchange result;
    m_heard = false;
    m_out.clear();
    for (const Task* task : tasks)
        m_out.add(task->command);
    Status status = send_some();
    m_answer_is_far = m_out.empty();
    while (status.ok() && result.answered < tasks.size() && !m_answers.is_cut_off()) {
        status = m_answers.read(*tasks[result.answered], deadline);
        if (status.ok())
            ++result.answered;
    }
    // A reply that came before its command was sent whole is an answer to nothing we asked.
    result.reusable = status.ok() && !m_answers.is_cut_off() && m_out.empty() && m_answers.is_drained();
    result.heard = m_heard;
    if (!status.ok())
        result.error = status.error();
    return result;
}

bool Connection::is_quiet() const
{
    return std::chrono::steady_clock::now() - m_last_used < k_just_used || m_socket.is_quiet();
}

Status Connection::send_some()
{
    std::array<iovec, 64> parts;
    m_write_wants = 0;
    std::size_t budget = k_sent_at_once;
    while (!m_out.empty()) {
        if (budget == 0) {
            m_write_wants = POLLOUT;
            return {};
        }
        const Transfer sent = m_socket.write(std::span(parts.data(), m_out.left(parts)));
        if (sent.state == Transfer::State::over)
            return ended(m_socket, m_address, sent);
        if (sent.state == Transfer::State::again) {
            m_write_wants = sent.wants;
            return {};
        }
        m_out.sent(sent.bytes);
        budget -= std::min(budget, sent.bytes);
    }
    return {};
}

// Sends meanwhile what is unsent.
Result<std::size_t> Connection::receive(std::span<const iovec> targets, SteadyTime deadline)
{
    while (true) {
        const SteadyTime now = std::chrono::steady_clock::now();
        if (now >= deadline)
            return passed_deadline(m_address);
        // The kernel may round a moment up: near the deadline only poll() is exact.
        const bool may_wait = m_answer_is_far && deadline - now > 8 * Socket::k_moment;
        short events = POLLIN;
        if (!m_answer_is_far || may_wait) {
            const Transfer got = m_socket.read(targets, may_wait ? Socket::Patience::moment : Socket::Patience::none);
            if (got.state == Transfer::State::over)
                return ended(m_socket, m_address, got);
            if (got.state == Transfer::State::done) {
                m_heard = true;
                m_answer_is_far = false;
                // The next commands of a pipeline are on their way while answers to the first arrive.
                if (!m_out.empty())
                    HEARTH_TRY(send_some());
                return got.bytes;
            }
            events = got.wants;
        }
        m_answer_is_far = false;
        const short wants = static_cast<short>(events | m_write_wants);
        if (!m_socket.wait(wants, deadline))
            return passed_deadline(m_address);
        if (!m_out.empty())
            HEARTH_TRY(send_some());
    }
}

}  // namespace hearth::tiers::redis
