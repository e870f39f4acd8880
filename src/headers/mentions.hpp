#pragma once

#include "headers/macros.hpp"

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace hearth::headers {

// Which macros may come to which words, whichever of their definitions hold. Refers to the macros it was made of.
class Mentions {
public:
    explicit Mentions(const Macros& macros);

    // The macros whose expansion may contain one of `words`.
    Macros::Words of(const Macros::Words& words) const;
    // Those that paste (##) themselves.
    const Macros::Words& pasting() const { return m_pasting; }
    // Every word of every body.
    const std::unordered_set<std::string_view>& words() const { return m_words; }

private:
    std::unordered_map<std::string_view, std::vector<const std::string*>> m_by_word;
    Macros::Words m_pasting;
    std::unordered_set<std::string_view> m_words;
};

// Whether a text may put names together by pasting: `__##a##__` makes __FILE__ of the word FILE. A piece has to stand
// in the text, or in a macro that it uses; numbers are always to be had, from __LINE__ for one. What is put together
// letter by letter is not looked for: every name could be.
class Pasting {
public:
    // `words`: all that stand in any of the texts.
    Pasting(const Macros::Words& names, const std::unordered_set<std::string_view>& words, const Mentions& mentions);

    bool is_possible_with(const std::unordered_set<std::string_view>& words_of_text) const;

private:
    struct Piece {
        std::string word;
        Macros::Words ways;  // itself, and the macros that may come to it
    };
    std::vector<std::string> m_names;  // those that have pieces at all
    std::vector<Piece> m_pieces;
    Macros::Words m_pasting;  // the macros that may come to paste
};

}  // namespace hearth::headers
