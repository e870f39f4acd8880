#include "tiers/redis/redis_connection.hpp"

#include "base/error.hpp"
#include "tiers/redis/redis_errors.hpp"

#include <algorithm>
#include <poll.h>
#include <system_error>

namespace hearth::tiers::redis {

namespace {

// After this many bytes the deadline is checked.
constexpr std::size_t k_sent_at_once = 4U << 20U;

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const RedisSettings& settings, const Endpoint& endpoint,
                                                     SteadyTime deadline)
{
    HEARTH_TRY_SET(Socket socket, Socket::connect(endpoint, settings.tls.get(), settings.connect_timeout, deadline));
    std::unique_ptr<Connection> made(new Connection(std::move(socket), endpoint.shown()));
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
    while (status.ok() && result.answered < tasks.size() && !m_replies.is_cut_off()) {
        status = read_answer(*tasks[result.answered], deadline);
        if (status.ok())
            ++result.answered;
    }
    // If a reply came before its command was sent completely, it answers something that we did not ask.
    result.reusable = status.ok() && !m_replies.is_cut_off() && m_out.empty() && m_replies.is_drained();
    result.heard = m_heard;
    if (!status.ok())
        result.error = status.error();
    return result;
}

Status Connection::read_answer(Task& task, SteadyTime deadline)
{
    Reply reply;
    Result<bool> whole = m_replies.next(reply, task.max_bytes);
    while (whole.ok() && !*whole) {
        HEARTH_TRY(receive(deadline));
        whole = m_replies.next(reply, task.max_bytes);
    }
    task.refusal.clear();
    if (!whole.ok() && whole.error().code != Code::too_large)
        return whole.error();
    if (!whole.ok()) {
        task.answer = whole.error();
    } else if (reply.kind == Reply::Kind::error) {
        task.answer = error_of_reply(reply.text, m_address);
        task.refusal = std::move(reply.text);
    } else {
        task.answer = std::move(reply);
    }
    return {};
}

bool Connection::is_quiet() const
{
    return std::chrono::steady_clock::now() - m_last_used < k_just_used || m_socket.is_quiet();
}

Error Connection::ended(const Transfer& transfer)
{
    if (std::optional<Error> refused = m_socket.refusal(m_address))
        return *std::move(refused);
    return broke_off(m_address, transfer.error == 0 ? "it closed the connection"
                                                    : std::generic_category().message(transfer.error));
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
            return ended(sent);
        if (sent.state == Transfer::State::again) {
            m_write_wants = sent.wants;
            return {};
        }
        m_out.sent(sent.bytes);
        budget -= std::min(budget, sent.bytes);
    }
    return {};
}

// Receives at least one more byte, and meanwhile sends what is unsent.
Status Connection::receive(SteadyTime deadline)
{
    while (true) {
        const SteadyTime now = std::chrono::steady_clock::now();
        if (now >= deadline)
            return passed_deadline(m_address);
        // The kernel may round k_moment up; near the deadline only poll() is exact.
        const bool may_wait = m_answer_is_far && deadline - now > 8 * Socket::k_moment;
        Transfer got{Transfer::State::again, 0, POLLIN, 0};
        if (!m_answer_is_far || may_wait)
            got = m_socket.read(m_replies.room(), may_wait ? Socket::Patience::moment : Socket::Patience::none);
        if (got.state == Transfer::State::over)
            return ended(got);
        m_answer_is_far = false;
        if (got.state == Transfer::State::done) {
            m_heard = true;
            m_replies.received(got.bytes);
        } else if (!m_socket.wait(static_cast<short>(got.wants | m_write_wants), deadline)) {
            return passed_deadline(m_address);
        }
        // The next commands of a pipeline are on their way while answers to the first arrive.
        if (!m_out.empty())
            HEARTH_TRY(send_some());
        if (got.state == Transfer::State::done)
            return {};
    }
}

}  // namespace hearth::tiers::redis
