#include "headers/mentions.hpp"

#include <algorithm>
#include <functional>

namespace hearth::headers {

namespace {

// Visits every piece of every way to put `name` together from at least two pieces. Returns whether there is a way.
bool for_each_piece(std::string_view name, const std::function<bool(std::string_view)>& is_piece,
                    const std::function<void(std::string_view)>& visit)
{
    const auto usable = [&](std::size_t start, std::size_t end) {
        const std::string_view part = name.substr(start, end - start);
        return part.size() < name.size() &&
               (part.find_first_not_of("0123456789") == std::string_view::npos || (part.size() > 1 && is_piece(part)));
    };
    // From the end: the positions from which the rest of the name can be put together.
    std::vector<bool> finishes(name.size() + 1, false);
    finishes[name.size()] = true;
    for (std::size_t start = name.size(); start-- > 0;)
        for (std::size_t end = start + 1; end <= name.size() && !finishes[start]; ++end)
            finishes[start] = finishes[end] && usable(start, end);
    if (!finishes[0])
        return false;
    std::vector<bool> reached(name.size() + 1, false);
    reached[0] = true;
    for (std::size_t start = 0; start < name.size(); ++start)
        for (std::size_t end = start + 1; reached[start] && end <= name.size(); ++end)
            if (finishes[end] && usable(start, end)) {
                reached[end] = true;
                visit(name.substr(start, end - start));
            }
    return true;
}

bool share_a_word(const Macros::Words& some, const std::unordered_set<std::string_view>& others)
{
    return std::any_of(some.begin(), some.end(), [&](const std::string& word) { return others.contains(word); });
}

}  // namespace

Mentions::Mentions(const Macros& macros)
{
    macros.for_each([&](const std::string& name, const Macros::Definition& definition) {
        if (definition.body.find("##") != std::string::npos)
            m_pasting.insert(name);
        for_each_identifier(definition.body, [&](std::string_view word) {
            m_by_word[word].push_back(&name);
            m_words.insert(word);
        });
    });
}

Macros::Words Mentions::of(const Macros::Words& words) const
{
    Macros::Words found;
    std::vector<std::string> reached(words.begin(), words.end());
    while (!reached.empty()) {
        const std::string name = std::move(reached.back());
        reached.pop_back();
        if (const auto users = m_by_word.find(name); users != m_by_word.end())
            for (const std::string* user : users->second)
                if (found.insert(*user).second)
                    reached.push_back(*user);
    }
    return found;
}

Pasting::Pasting(const Macros::Words& names, const std::unordered_set<std::string_view>& words,
                 const Mentions& mentions)
    : m_pasting(mentions.of(mentions.pasting()))
{
    m_pasting.insert(mentions.pasting().begin(), mentions.pasting().end());
    Macros::Words pieces;
    const auto is_piece = [&](std::string_view part) {
        return words.contains(part) || mentions.words().contains(part);
    };
    for (const std::string& name : names)
        if (for_each_piece(name, is_piece, [&](std::string_view piece) { pieces.emplace(piece); }))
            m_names.push_back(name);
    for (const std::string& piece : pieces) {
        Macros::Words ways = mentions.of({piece});
        ways.insert(piece);
        m_pieces.push_back({piece, std::move(ways)});
    }
}

bool Pasting::is_possible_with(const std::unordered_set<std::string_view>& words_of_text) const
{
    if (m_names.empty() || !share_a_word(m_pasting, words_of_text))
        return false;
    std::unordered_set<std::string_view> at_hand;
    for (const Piece& piece : m_pieces)
        if (share_a_word(piece.ways, words_of_text))
            at_hand.insert(piece.word);
    const auto is_piece = [&](std::string_view part) { return at_hand.contains(part); };
    return std::any_of(m_names.begin(), m_names.end(),
                       [&](const std::string& name) { return for_each_piece(name, is_piece, [](auto) {}); });
}

}  // namespace hearth::headers
