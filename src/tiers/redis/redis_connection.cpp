#include "tiers/redis/redis_connection.hpp"

#include "tiers/redis/redis_errors.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <poll.h>
#include <system_error>

namespace hearth::tiers::redis {

namespace {

// The rest of a refused object is read and dropped where that is cheaper than a new connection.
constexpr std::int64_t k_worth_discarding = 64 << 10;

// Then the deadline is looked at.
constexpr std::size_t k_sent_at_once = 4U << 20U;

Error ended(const std::string& address, const Transfer& transfer)
{
    return broke_off(address, transfer.error == 0 ? "it closed the connection"
                                                  : std::generic_category().message(transfer.error));
}

}  // namespace

Result<std::unique_ptr<Connection>> Connection::open(const RedisSettings& settings, const Endpoint& endpoint,
                                                     SteadyTime deadline)
{
    Result<Socket> socket = Socket::connect(endpoint, settings.tls.get(), settings.connect_timeout, deadline);
    if (!socket.ok())
        return socket.error();
    std::unique_ptr<Connection> made(new Connection(*std::move(socket), endpoint.shown()));
    if (Status logged_in = made->log_in(settings, deadline); !logged_in.ok())
        return logged_in.error();
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
    if (!auth.answer.ok())
        return auth.answer.error();
    if (!select.answer.ok())
        return select.answer.error();
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
    while (status.ok() && result.answered < tasks.size() && !m_cut_off) {
        status = read_answer(*tasks[result.answered], deadline);
        if (status.ok())
            ++result.answered;
    }
    // A reply that came before its command was sent whole is an answer to nothing we asked.
    result.reusable = status.ok() && !m_cut_off && m_out.empty() && m_begin == m_end;
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
            return ended(m_address, sent);
        if (sent.state == Transfer::State::again) {
            m_write_wants = sent.wants;
            return {};
        }
        m_out.sent(sent.bytes);
        budget -= std::min(budget, sent.bytes);
    }
    return {};
}

Result<std::size_t> Connection::receive(std::span<std::byte> first, SteadyTime deadline)
{
    if (m_begin == m_end)
        m_begin = m_end = 0;
    std::array<iovec, 2> targets{};
    std::size_t count = 0;
    if (!first.empty())
        targets[count++] = {first.data(), first.size()};
    if (m_end < m_buffer.size())
        targets[count++] = {m_buffer.data() + m_end, m_buffer.size() - m_end};
    while (true) {
        const SteadyTime now = std::chrono::steady_clock::now();
        if (now >= deadline)
            return passed_deadline(m_address);
        // The kernel may round a moment up: near the deadline only poll() is exact.
        const bool may_wait = m_answer_is_far && deadline - now > 8 * Socket::k_moment;
        short events = POLLIN;
        if (!m_answer_is_far || may_wait) {
            const Transfer got = m_socket.read(std::span(targets.data(), count),
                                               may_wait ? Socket::Patience::moment : Socket::Patience::none);
            if (got.state == Transfer::State::over)
                return ended(m_address, got);
            if (got.state == Transfer::State::done) {
                m_heard = true;
                m_answer_is_far = false;
                m_end += got.bytes - std::min(got.bytes, first.size());
                // The next commands of a pipeline are on their way while answers to the first arrive.
                if (!m_out.empty())
                    if (Status sent = send_some(); !sent.ok())
                        return sent.error();
                return got.bytes;
            }
            events = got.wants;
        }
        m_answer_is_far = false;
        const short wants = static_cast<short>(events | m_write_wants);
        if (!m_socket.wait(wants, deadline))
            return passed_deadline(m_address);
        if (!m_out.empty())
            if (Status sent = send_some(); !sent.ok())
                return sent.error();
    }
}

Status Connection::receive_more(SteadyTime deadline)
{
    if (m_begin > 0 && m_end == m_buffer.size()) {
        std::memmove(m_buffer.data(), m_buffer.data() + m_begin, m_end - m_begin);
        m_end -= m_begin;
        m_begin = 0;
    }
    if (m_end == m_buffer.size())
        return not_redis(m_address, fmt::format("a line is longer than {} bytes", m_buffer.size()));
    const Result<std::size_t> got = receive({}, deadline);
    return got.ok() ? Status() : got.error();
}

Status Connection::read_answer(Task& task, SteadyTime deadline)
{
    if (m_begin == m_end)
        if (Status more = receive_more(deadline); !more.ok())
            return more;
    switch (m_buffer[m_begin]) {
    case '$':
        return read_bulk(task, deadline);
    case '+':
    case '-':
    case ':':
        return read_line(task, deadline);
    case '*':
        return read_array(task, deadline);
    default:
        return not_redis(
            m_address, fmt::format("a reply begins with byte {:#04x}", static_cast<unsigned char>(m_buffer[m_begin])));
    }
}

Status Connection::read_bulk(Task& task, SteadyTime deadline)
{
    BulkHeader header = parse_bulk_header(buffered().substr(1));
    while (header.state == BulkHeader::State::more) {
        if (Status more = receive_more(deadline); !more.ok())
            return more;
        header = parse_bulk_header(buffered().substr(1));
    }
    if (header.state == BulkHeader::State::broken)
        return not_redis(m_address, "the length of a reply is no length");
    m_begin += 1 + header.size;
    Reply reply;
    if (header.length < 0) {
        answer(task, std::move(reply));
        return {};
    }
    const auto length = static_cast<std::uint64_t>(header.length);
    if (length > task.max_bytes) {
        task.answer = too_large(m_address, length, task.max_bytes);
        m_cut_off = header.length > k_worth_discarding;
        return m_cut_off ? Status() : discard(length + 2, deadline);
    }
    reply.kind = Reply::Kind::bulk;
    Status read;
    try {
        reply.bytes = Bytes::make(length, [&](std::span<std::byte> body) { read = read_body(body, deadline); });
    } catch (const std::bad_alloc&) {
        task.answer = Error{Code::too_large, fmt::format("There is no memory for an object of {} bytes.", length), {}};
        m_cut_off = true;
        return {};
    }
    if (read.ok())
        answer(task, std::move(reply));
    return read;
}

Status Connection::read_body(std::span<std::byte> body, SteadyTime deadline)
{
    const std::size_t here = std::min(body.size(), m_end - m_begin);
    std::memcpy(body.data(), m_buffer.data() + m_begin, here);
    m_begin += here;
    std::span<std::byte> rest = body.subspan(here);
    while (!rest.empty()) {
        const Result<std::size_t> got = receive(rest, deadline);
        if (!got.ok())
            return got.error();
        rest = rest.subspan(std::min(*got, rest.size()));
    }
    while (m_end - m_begin < 2)
        if (Status more = receive_more(deadline); !more.ok())
            return more;
    if (!buffered().starts_with("\r\n"))
        return not_redis(m_address, "a reply does not end where it should");
    m_begin += 2;
    return {};
}

Status Connection::read_line(Task& task, SteadyTime deadline)
{
    std::size_t end = buffered().find("\r\n");
    while (end == std::string_view::npos) {
        if (Status more = receive_more(deadline); !more.ok())
            return more;
        end = buffered().find("\r\n");
    }
    Reply reply;
    const ReplyDecoder::State state = m_decoder.feed(buffered().substr(0, end + 2), reply);
    m_begin += end + 2;
    if (state != ReplyDecoder::State::whole)
        return not_redis(m_address, m_decoder.why_broken());
    answer(task, std::move(reply));
    return {};
}

Status Connection::read_array(Task& task, SteadyTime deadline)
{
    Reply reply;
    while (true) {
        const ReplyDecoder::State state = m_decoder.feed(buffered(), reply);
        m_begin = m_end;
        if (state == ReplyDecoder::State::whole)
            break;
        if (state == ReplyDecoder::State::broken)
            return not_redis(m_address, m_decoder.why_broken());
        if (Status more = receive_more(deadline); !more.ok())
            return more;
    }
    // No command is ever sent behind one that is answered by an array.
    if (m_decoder.left_over() != 0)
        return not_redis(m_address, "there is more than one reply to a command");
    answer(task, std::move(reply));
    return {};
}

Status Connection::discard(std::size_t bytes, SteadyTime deadline)
{
    while (true) {
        const std::size_t here = std::min(bytes, m_end - m_begin);
        m_begin += here;
        bytes -= here;
        if (bytes == 0)
            return {};
        if (Status more = receive_more(deadline); !more.ok())
            return more;
    }
}

void Connection::answer(Task& task, Reply reply) const
{
    task.refusal.clear();
    if (reply.kind == Reply::Kind::error) {
        task.answer = error_of_reply(reply.text, m_address);
        task.refusal = std::move(reply.text);
        return;
    }
    task.answer = std::move(reply);
}

}  // namespace hearth::tiers::redis
