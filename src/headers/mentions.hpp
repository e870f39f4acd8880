#pragma once

#include "headers/macros.hpp"

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace hearth::headers {

// Which macros may expand to which words, whichever of their definitions hold. Refers to the macros it was built from.
class Mentions {
public:
    explicit Mentions(const Macros& macros);

    // The macros whose expansion may contain one of `words`.
    Macros::Words of(const Macros::Words& words) const;
    // The macros that paste (##) themselves.
    const Macros::Words& pasting() const { return m_pasting; }
    // Every word of every body.
    const std::unordered_set<std::string_view>& words() const { return m_words; }

private:
    std::unordered_map<std::string_view, std::vector<const std::string*>> m_by_word;
    Macros::Words m_pasting;
    std::unordered_set<std::string_view> m_words;
};

// Whether a text may put names together by pasting: `__##a##__` makes __FILE__ of the word FILE. A piece has to be in
// the text or in a macro that it uses. Numbers are always available, for example from __LINE__. Names that are put
// together letter by letter are not searched for, since every name could be.
class Pasting {
public:
    // `words`: all words of all texts.
    Pasting(const Macros::Words& names, const std::unordered_set<std::string_view>& words, const Mentions& mentions);

    bool is_possible_with(const std::unordered_set<std::string_view>& words_of_text) const;

private:
    struct Piece {
        std::string word;
        Macros::Words ways;  // itself, and the macros that may expand to it
    };
    std::vector<std::string> m_names;  // those that can be put together at all
    std::vector<Piece> m_pieces;
    Macros::Words m_pasting;  // the macros that may paste
};

}  // namespace hearth::headers
