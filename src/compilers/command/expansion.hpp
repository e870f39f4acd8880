#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace hearth::command {

// The text of a file in which short marks are replaced by names that a call gives. Whoever wrote the entry decides how
// many marks there are, so the text may grow by k_most_growth at most; real ones grow by some kilobytes.
class Expansion {
public:
    static constexpr std::size_t k_most_growth = std::size_t{16} << 20;

    explicit Expansion(std::string_view kept) : m_room(kept.size() + k_most_growth) {}

    // False: it has no room.
    bool append(std::string_view piece)
    {
        if (piece.size() > m_room)
            return false;
        m_room -= piece.size();
        m_text.append(piece);
        return true;
    }
    std::string take() { return std::move(m_text); }

private:
    std::size_t m_room;
    std::string m_text;
};

}  // namespace hearth::command
