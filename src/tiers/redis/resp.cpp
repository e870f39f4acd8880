#include "tiers/redis/resp.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "tiers/redis/redis_errors.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <new>
#include <utility>

namespace hearth::tiers::redis {

namespace {

// Below this size a copy costs less than another part of a writev().
constexpr std::size_t k_worth_a_part = 4096;
constexpr std::size_t k_kept_text = 64U << 10U;
// Up to this size, reading and dropping the rest of a refused object is cheaper than a new connection.
constexpr std::uint64_t k_worth_dropping = 64U << 10U;
// A mark, a sign, 19 digits: no line that holds a number is longer.
constexpr std::size_t k_max_number_line = 21;

}  // namespace

Command::Command(std::string_view key_of_all, std::initializer_list<std::string_view> list)
    : count(list.size()), key(key_of_all)
{
    std::copy(list.begin(), list.end(), words.begin());
}

std::size_t Command::bytes() const
{
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count; ++i)
        sum += words[i].size();
    return sum;
}

void CommandBuffer::clear()
{
    if (m_text.capacity() > k_kept_text)
        m_text = {};
    m_text.clear();
    m_pieces.clear();
    m_first = 0;
    m_left = 0;
}

void CommandBuffer::add_text(std::string_view text)
{
    if (m_pieces.empty() || m_pieces.back().elsewhere)
        m_pieces.push_back({nullptr, m_text.size(), 0});
    m_text += text;
    m_pieces.back().size += text.size();
    m_left += text.size();
}

void CommandBuffer::add_length(char mark, std::size_t length)
{
    std::array<char, 24> line;
    line[0] = mark;
    char* end = std::to_chars(line.data() + 1, line.data() + line.size() - 2, length).ptr;
    *end++ = '\r';
    *end++ = '\n';
    add_text({line.data(), static_cast<std::size_t>(end - line.data())});
}

void CommandBuffer::add(const Command& command)
{
    add_length('*', command.count);
    for (std::size_t i = 0; i < command.count; ++i) {
        const std::string_view word = command.words[i];
        add_length('$', word.size());
        if (word.size() < k_worth_a_part) {
            add_text(word);
        } else {
            m_pieces.push_back({word.data(), 0, word.size()});
            m_left += word.size();
        }
        add_text("\r\n");
    }
}

std::size_t CommandBuffer::left(std::span<iovec> parts) const
{
    std::size_t count = 0;
    for (std::size_t i = m_first; i < m_pieces.size() && count < parts.size(); ++i) {
        const Piece& piece = m_pieces[i];
        const char* start = (piece.elsewhere ? piece.elsewhere : m_text.data()) + piece.offset;
        parts[count++] = {const_cast<char*>(start), piece.size};
    }
    return count;
}

void CommandBuffer::sent(std::size_t bytes)
{
    m_left -= bytes;
    while (bytes > 0) {
        Piece& piece = m_pieces[m_first];
        if (bytes < piece.size) {
            piece.offset += bytes;
            piece.size -= bytes;
            return;
        }
        bytes -= piece.size;
        ++m_first;
    }
}

Error ReplyReader::broken(std::string_view why) const
{
    return not_redis(m_address, why);
}

std::span<const iovec> ReplyReader::room()
{
    if (m_begin == m_end) {
        m_begin = m_end = 0;
    } else if (m_end == m_buffer.size()) {
        std::memmove(m_buffer.data(), m_buffer.data() + m_begin, m_end - m_begin);
        m_end -= m_begin;
        m_begin = 0;
    }
    std::size_t count = 0;
    if (!m_body.empty())
        m_room[count++] = {m_body.data(), m_body.size()};
    m_room[count++] = {m_buffer.data() + m_end, m_buffer.size() - m_end};
    return {m_room.data(), count};
}

void ReplyReader::received(std::size_t bytes)
{
    const std::size_t direct = std::min(bytes, m_body.size());
    m_body = m_body.subspan(direct);
    m_body_left -= direct;
    m_end += bytes - direct;
}

Result<bool> ReplyReader::next(Reply& reply, std::uint64_t max_bytes)
try {
    while (!m_whole) {
        Result<bool> taken = m_body_left > 0 ? take_body() : take_line(max_bytes);
        if (!taken.ok() || !*taken)
            return taken;
    }
    reply = std::exchange(m_reply, {});
    m_whole = false;
    m_elements = 0;
    m_array_bytes = 0;
    if (m_refusal)
        return *std::exchange(m_refusal, std::nullopt);
    return true;
} catch (const std::bad_alloc&) {
    m_cut_off = true;
    return error(Code::too_large, "There is no memory for what redis at {} answers.", m_address);
}

// A value is complete, and so is every array whose last element it was.
void ReplyReader::end_value()
{
    while (m_depth > 0 && --m_open[m_depth - 1].left == 0)
        --m_depth;
    m_whole = m_depth == 0;
}

Result<bool> ReplyReader::take_line(std::uint64_t max_bytes)
{
    if (m_begin == m_end)
        return false;
    const char mark = m_buffer[m_begin];
    const bool words = mark == '+' || mark == '-';
    if (!words && mark != ':' && mark != '$' && mark != '*')
        return broken(fmt::format("a reply begins with byte {:#04x}", static_cast<unsigned char>(mark)));
    const std::size_t end = buffered().find("\r\n");
    const bool ended = end != std::string_view::npos;
    const std::size_t size = ended ? end : buffered().size();
    // If the line has not ended, its last byte may be the first half of CRLF.
    if (size > (words ? k_max_line - 2 : k_max_number_line) + (ended ? 0 : 1))
        return broken(words ? fmt::format("a line is longer than {} bytes", k_max_line)
                            : "the length of a reply is no length");
    if (!ended)
        return false;
    const std::string_view text = buffered().substr(1, size - 1);
    m_begin += size + 2;
    m_array_bytes += size + 2;
    if (++m_elements > k_max_elements)
        return broken(fmt::format("a reply has more than {} elements", k_max_elements));
    if (m_array_bytes > k_max_array_bytes)
        return broken(fmt::format("a reply is longer than {} bytes", k_max_array_bytes));

    // Elements come in order, and the earlier ones are complete, so growing the vector moves nothing in use.
    Reply& value = m_depth == 0 ? m_reply : m_open[m_depth - 1].array->elements.emplace_back();
    if (words) {
        value.kind = mark == '+' ? Reply::Kind::status : Reply::Kind::error;
        value.text = text;
        end_value();
        return true;
    }
    const std::optional<std::int64_t> number = base::parse_number<std::int64_t>(text);
    if (!number || (mark != ':' && *number < -1))
        return broken(mark == ':' ? "a number is none" : "the length of a reply is no length");
    if (mark == ':' || *number < 0) {
        value.kind = mark == ':' ? Reply::Kind::integer : Reply::Kind::nil;
        value.integer = mark == ':' ? *number : 0;
        end_value();
        return true;
    }
    const auto length = static_cast<std::uint64_t>(*number);
    HEARTH_TRY(mark == '$' ? begin_bulk(value, length, max_bytes) : begin_array(value, length));
    return true;
}

Status ReplyReader::begin_array(Reply& value, std::uint64_t count)
{
    value.kind = Reply::Kind::array;
    if (count > k_max_elements)
        return broken(fmt::format("a reply announces {} elements, and {} are the most", count, k_max_elements));
    if (count > 0 && m_depth == k_max_depth)
        return broken(fmt::format("a reply has arrays in arrays, more than {} deep", k_max_depth));
    if (count > 0)
        m_open[m_depth++] = {&value, count};
    else
        end_value();
    return {};
}

Status ReplyReader::begin_bulk(Reply& value, std::uint64_t length, std::uint64_t max_bytes)
{
    value.kind = Reply::Kind::bulk;
    m_element = nullptr;
    if (m_depth > 0) {
        if (length > k_max_array_bytes - m_array_bytes)
            return broken(fmt::format("a part of a reply is longer than {} bytes", k_max_array_bytes));
        m_element = &value.text;
    } else if (length > max_bytes) {
        m_cut_off = length > k_worth_dropping;
        if (m_cut_off)
            return too_large(m_address, length, max_bytes);
        m_refusal = too_large(m_address, length, max_bytes);
    } else {
        value.bytes = Bytes::make(length, [&](std::span<std::byte> body) { m_body = body; });
    }
    m_body_left = length + 2;
    return {};
}

Result<bool> ReplyReader::take_body()
{
    const std::size_t here = std::min(m_body_left - std::min<std::size_t>(m_body_left, 2), m_end - m_begin);
    if (m_element) {
        m_element->append(buffered().substr(0, here));
        m_array_bytes += here;
    } else if (!m_body.empty()) {
        std::memcpy(m_body.data(), m_buffer.data() + m_begin, here);
        m_body = m_body.subspan(here);
    }
    m_begin += here;
    m_body_left -= here;
    if (m_body_left > 2 || buffered().size() < 2)
        return false;
    if (!buffered().starts_with("\r\n"))
        return broken("a reply does not end where it should");
    m_begin += 2;
    m_body_left = 0;
    end_value();
    return true;
}

}  // namespace hearth::tiers::redis
