#include "tiers/redis/command.hpp"

#include <charconv>

namespace hearth::tiers::redis {

namespace {

// Below this a copy costs less than another part of a writev.
constexpr std::size_t k_worth_a_part = 4096;
constexpr std::size_t k_kept_text = 64U << 10U;

}  // namespace

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

}  // namespace hearth::tiers::redis
