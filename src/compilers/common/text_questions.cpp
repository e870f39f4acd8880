#include "compilers/common/text_questions.hpp"

#include "base/text.hpp"
#include "compilers/common/callers.hpp"
#include "compilers/common/source_words.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace hearth::compilers {

namespace {

using Word = TextFacts::Word;
using Words = std::unordered_set<Word>;

constexpr std::array<std::string_view, 3> k_time{"__TIME__", "__DATE__", "__TIMESTAMP__"};
// NVRTC itself defines assert(), with __FILE__.
constexpr std::array<std::string_view, 3> k_own_path{"__FILE__", "__FILE_NAME__", "assert"};
// As a default argument these give the path of the caller.
constexpr std::array<std::string_view, 3> k_callers_path{"__builtin_FILE", "__builtin_FILE_NAME",
                                                         "__builtin_source_location"};
// In a header too this is the path of the program.
constexpr std::string_view k_programs_path = "__BASE_FILE__";

// Every definition of every macro that a compile may have seen. Any of them may hold at any place.
class Macros {
public:
    explicit Macros(std::span<const TextFacts* const> texts)
    {
        for (const TextFacts* text : texts)
            for (const TextFacts::Definition& definition : text->definitions()) {
                const Word name = TextFacts::hash(definition.name);
                m_names.emplace(name, definition.name);
                if (definition.pastes)
                    m_pasting.insert(name);
                for (const Word word : definition.body)
                    m_users[word].push_back(name);
            }
    }

    // The words, and the macros that may expand to one of them.
    Words leading_to(Words words) const
    {
        std::vector<Word> reached(words.begin(), words.end());
        while (!reached.empty()) {
            const Word word = reached.back();
            reached.pop_back();
            if (const auto users = m_users.find(word); users != m_users.end())
                for (const Word user : users->second)
                    if (words.insert(user).second)
                        reached.push_back(user);
        }
        return words;
    }

    const std::string* name_of(Word word) const
    {
        const auto found = m_names.find(word);
        return found == m_names.end() ? nullptr : &found->second;
    }
    bool mentions(Word word) const { return m_users.contains(word); }
    const Words& pasting() const { return m_pasting; }

private:
    std::unordered_map<Word, std::string> m_names;
    std::unordered_map<Word, std::vector<Word>> m_users;  // the macros whose bodies have the word
    Words m_pasting;
};

bool uses_any(const TextFacts& text, const Words& words)
{
    if (words.size() < text.used().size())
        return std::any_of(words.begin(), words.end(), [&](Word word) { return text.uses(word); });
    return std::any_of(text.used().begin(), text.used().end(), [&](Word word) { return words.contains(word); });
}

// Whether some text uses a word. Most of those that are asked for are in none of hundreds of texts: a bit of the word's
// hash tells that.
class UsedAnywhere {
public:
    explicit UsedAnywhere(std::span<const TextFacts* const> texts) : m_texts(texts)
    {
        std::size_t words = 1;
        for (const TextFacts* text : texts)
            words += text->used().size();
        m_bits.resize(words * k_bits_a_word);
        for (const TextFacts* text : texts)
            for (const Word word : text->used())
                m_bits[word % m_bits.size()] = true;
    }

    bool operator()(Word word) const
    {
        return m_bits[word % m_bits.size()] &&
               std::any_of(m_texts.begin(), m_texts.end(), [&](const TextFacts* text) { return text->uses(word); });
    }

private:
    static constexpr std::size_t k_bits_a_word = 16;
    std::span<const TextFacts* const> m_texts;
    std::vector<bool> m_bits;
};

// A name that ## may put together of pieces.
struct Pasted {
    std::string name;
    // How many of the pieces may be single letters. With any number of them, every short name could be put together.
    std::size_t most_letters = k_few_letters;

    static constexpr std::size_t k_few_letters = 2;
};

// The ways to put a longer name together are not counted: there may be one.
constexpr std::size_t k_longest_read = 256;

// Visits every piece of every way to put `pasted` together from at least two pieces. Returns whether there is a way.
bool for_each_piece(const Pasted& pasted, const std::function<bool(std::string_view)>& is_piece,
                    const std::function<void(std::string_view)>& visit)
{
    const std::string_view name = pasted.name;
    if (name.size() > k_longest_read)
        return true;
    const std::size_t most = std::min(pasted.most_letters, name.size());
    // 0: no piece; else what it costs of the letters, plus 1.
    const auto cost = [&](std::size_t start, std::size_t end) -> std::size_t {
        const std::string_view part = name.substr(start, end - start);
        if (part.size() == name.size())
            return 0;
        // __LINE__ gives any, and __cplusplus 201703L.
        const std::string_view number = part.size() > 1 && part.ends_with('L') ? part.substr(0, part.size() - 1) : part;
        if (std::all_of(number.begin(), number.end(), base::is_digit))
            return 1;
        if (!is_piece(part))
            return 0;
        return part.size() > 1 ? 1 : 2;
    };
    // The fewest letters that it takes to put the rest of the name together from a position, and to get there.
    const std::size_t never = most + 1;
    std::vector<std::size_t> to_finish(name.size() + 1, never);
    std::vector<std::size_t> to_reach(name.size() + 1, never);
    to_finish[name.size()] = 0;
    for (std::size_t start = name.size(); start-- > 0;)
        for (std::size_t end = start + 1; end <= name.size(); ++end)
            if (const std::size_t costs = to_finish[end] < never ? cost(start, end) : 0; costs != 0)
                to_finish[start] = std::min(to_finish[start], to_finish[end] + costs - 1);
    if (to_finish[0] > most)
        return false;
    to_reach[0] = 0;
    for (std::size_t start = 0; start < name.size(); ++start)
        for (std::size_t end = start + 1; to_reach[start] < never && end <= name.size(); ++end)
            if (const std::size_t costs = to_finish[end] < never ? cost(start, end) : 0;
                costs != 0 && to_reach[start] + costs - 1 + to_finish[end] <= most) {
                to_reach[end] = std::min(to_reach[end], to_reach[start] + costs - 1);
                visit(name.substr(start, end - start));
            }
    return true;
}

// Which texts may put one of these names together: `__##a##__` makes __FILE__ of the word FILE. Each piece has to be in
// the text, or in a macro that it uses.
class Pasting {
public:
    Pasting(const UsedAnywhere& used, const Macros& macros, std::vector<Pasted> names)
        : m_pasting(macros.leading_to(macros.pasting()))
    {
        const auto is_anywhere = [&](std::string_view part) {
            const Word word = TextFacts::hash(part);
            return macros.mentions(word) || used(word);
        };
        if (!m_pasting.empty())
            for (Pasted& name : names)
                add(std::move(name), is_anywhere, macros);
    }

    bool is_possible_in(const TextFacts& text) const
    {
        if (m_names.empty() || !uses_any(text, m_pasting))
            return false;
        Words at_hand;
        for (const auto& [piece, ways] : m_ways)
            if (uses_any(text, ways))
                at_hand.insert(piece);
        const auto is_piece = [&](std::string_view part) { return at_hand.contains(TextFacts::hash(part)); };
        return std::any_of(m_names.begin(), m_names.end(),
                           [&](const Pasted& name) { return for_each_piece(name, is_piece, [](auto) {}); });
    }

private:
    void add(Pasted name, const std::function<bool(std::string_view)>& is_anywhere, const Macros& macros)
    {
        if (for_each_piece(name, is_anywhere, [&](std::string_view piece) {
                const Word word = TextFacts::hash(piece);
                if (!m_ways.contains(word))
                    m_ways.emplace(word, macros.leading_to({word}));
            }))
            m_names.push_back(std::move(name));
    }

    Words m_pasting;  // macros that may paste
    std::vector<Pasted> m_names;
    std::unordered_map<Word, Words> m_ways;  // of a piece: itself, and the macros that may expand to it
};

std::vector<Pasted> letter_by_letter(std::span<const std::string_view> names)
{
    std::vector<Pasted> all;
    for (const std::string_view name : names)
        all.push_back({std::string(name), name.starts_with('_') ? name.size() : Pasted::k_few_letters});
    return all;
}

Words hashes_of(std::span<const std::string_view> names)
{
    Words words;
    for (const std::string_view name : names)
        words.insert(TextFacts::hash(name));
    return words;
}

}  // namespace

TextAnswers ask_texts(std::span<const SourceText> sources, Language language)
{
    TextAnswers answers;
    std::vector<const TextFacts*> texts;
    texts.reserve(sources.size());
    for (const SourceText& source : sources)
        texts.push_back(source.facts);
    if (std::ranges::any_of(texts, &TextFacts::is_tangled))
        return {.may_hold_the_time = true,
                .may_hold_any_path = true,
                .may_hold_its_own_path = std::vector<bool>(sources.size(), true)};
    const Macros macros(texts);
    const UsedAnywhere used(texts);
    const Pasting pasted_time(used, macros, letter_by_letter(k_time));
    const Words time = hashes_of(k_time);
    const Pasting pasted_caller(used, macros, letter_by_letter(k_callers_path));
    const Pasting pasted_program(used, macros, {{std::string(k_programs_path), k_programs_path.size()}});
    Words own = macros.leading_to(hashes_of(k_own_path));
    // Macros that lead to what was found are ways to it too, and so on.
    Words callers = macros.leading_to(hashes_of(k_callers_path));
    std::optional<std::set<std::string>> found{std::in_place};
    for (std::size_t known = 0; language != Language::c && found && callers.size() != known;) {
        known = callers.size();
        found = words_of_callers(sources, callers);
        if (found)
            for (const std::string& word : *found)
                callers.insert(TextFacts::hash(word));
        callers = macros.leading_to(std::move(callers));
    }
    own.insert(callers.begin(), callers.end());
    const Words programs = macros.leading_to({TextFacts::hash(k_programs_path)});
    std::vector<Pasted> own_names = letter_by_letter(k_own_path);
    if (found)
        for (const std::string& word : *found)
            own_names.push_back({word});
    for (const Word word : own)
        if (const std::string* const name = macros.name_of(word))
            own_names.push_back({*name});
    const Pasting pasted_own(used, macros, std::move(own_names));
    answers.may_hold_the_time = std::any_of(time.begin(), time.end(), [&](Word word) { return macros.mentions(word); });
    for (const TextFacts* text : texts) {
        answers.may_hold_the_time |= uses_any(*text, time) || pasted_time.is_possible_in(*text);
        answers.may_hold_any_path |= !found || uses_any(*text, programs) || pasted_caller.is_possible_in(*text) ||
                                     pasted_program.is_possible_in(*text);
        answers.may_hold_its_own_path.push_back(uses_any(*text, own) || pasted_own.is_possible_in(*text));
    }
    return answers;
}

bool may_name(std::span<const SourceText> texts, std::string_view path)
{
    bool all = true;
    // ## can put words together that stand nowhere.
    if (std::ranges::any_of(texts, [](const SourceText& text) {
            return text.facts->includes_what_is_pasted() || text.facts->is_tangled();
        }))
        return true;
    for_each_word(path, [&](std::string_view part) {
        if (std::all_of(part.begin(), part.end(), base::is_digit))
            return;  // some macro of the compiler's stands for it
        const Word word = TextFacts::hash(part);
        all = all && std::any_of(texts.begin(), texts.end(),
                                 [&](const SourceText& text) { return text.facts->mentions(word); });
    });
    return all;
}

}  // namespace hearth::compilers
