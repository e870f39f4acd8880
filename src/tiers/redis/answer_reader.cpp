#include "tiers/redis/answer_reader.hpp"

#include "base/error.hpp"
#include "tiers/redis/redis_errors.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <new>

namespace hearth::tiers::redis {

namespace {

// The rest of a refused object is read and dropped where that is cheaper than a new connection.
constexpr std::int64_t k_worth_discarding = 64 << 10;

}  // namespace

Result<std::size_t> AnswerReader::receive(std::span<std::byte> first, SteadyTime deadline)
{
    if (m_begin == m_end)
        m_begin = m_end = 0;
    std::array<iovec, 2> targets{};
    std::size_t count = 0;
    if (!first.empty())
        targets[count++] = {first.data(), first.size()};
    if (m_end < m_buffer.size())
        targets[count++] = {m_buffer.data() + m_end, m_buffer.size() - m_end};
    Result<std::size_t> got = m_source.receive(std::span(targets.data(), count), deadline);
    if (got.ok())
        m_end += *got - std::min(*got, first.size());
    return got;
}

Status AnswerReader::receive_more(SteadyTime deadline)
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

Status AnswerReader::read(Task& task, SteadyTime deadline)
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

Status AnswerReader::read_bulk(Task& task, SteadyTime deadline)
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
        task.answer = error(Code::too_large, "There is no memory for an object of {} bytes.", length);
        m_cut_off = true;
        return {};
    }
    if (read.ok())
        answer(task, std::move(reply));
    return read;
}

Status AnswerReader::read_body(std::span<std::byte> body, SteadyTime deadline)
{
    const std::size_t here = std::min(body.size(), m_end - m_begin);
    std::memcpy(body.data(), m_buffer.data() + m_begin, here);
    m_begin += here;
    std::span<std::byte> rest = body.subspan(here);
    while (!rest.empty()) {
        const Result<std::size_t> got = receive(rest, deadline);
        HEARTH_TRY(got);
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

Status AnswerReader::read_line(Task& task, SteadyTime deadline)
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

Status AnswerReader::read_array(Task& task, SteadyTime deadline)
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

Status AnswerReader::discard(std::size_t bytes, SteadyTime deadline)
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

void AnswerReader::answer(Task& task, Reply reply) const
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
