#include "compilers/common/callers.hpp"

#include "compilers/common/source_words.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

namespace hearth::compilers {

namespace {

using Word = TextFacts::Word;
using Words = std::unordered_set<Word>;

constexpr std::string_view k_blanks = " \t\v\f\r\n";
// A source may hold anything. After so many words, or characters walked, it cannot be told.
constexpr std::size_t k_most_words = 2000;
constexpr std::size_t k_most_walked = 50'000'000;

template <std::size_t k_size>
bool is_one_of(std::string_view word, const std::array<std::string_view, k_size>& words)
{
    return std::ranges::find(words, word) != words.end();
}

bool is_class_key(std::string_view word)
{
    static constexpr std::array<std::string_view, 3> k_keys{"class", "struct", "union"};
    return is_one_of(word, k_keys);
}

// The text with comments, strings, characters and directives made blank; the rest keeps its place.
class Blanking {
public:
    explicit Blanking(std::string_view text) : m_text(text), m_out(text) {}

    std::string run()
    {
        bool line_start = true;
        while (m_at < m_text.size()) {
            const char c = m_text[m_at];
            if (m_text.substr(m_at, 2) == "//")
                blank_to(m_text.find('\n', m_at));
            else if (m_text.substr(m_at, 2) == "/*")
                blank_to(end_of("*/", m_at + 2));
            else if (c == '#' && line_start)
                blank_directive();
            else if (c == '"')
                blank_to(is_raw() ? end_of_raw() : end_of_quoted('"'));
            else if (c == '\'' && !(m_at > 0 && is_word(m_text[m_at - 1])))  // 1'000 is a number
                blank_to(end_of_quoted('\''));
            else {
                line_start = c == '\n' || (line_start && k_blanks.find(c) != std::string_view::npos);
                ++m_at;
            }
        }
        return std::move(m_out);
    }

private:
    void blank_to(std::size_t end)
    {
        for (end = std::min(end, m_text.size()); m_at < end; ++m_at)
            if (m_text[m_at] != '\n')
                m_out[m_at] = ' ';
    }
    std::size_t end_of(std::string_view what, std::size_t from) const
    {
        const std::size_t found = m_text.find(what, from);
        return found == std::string_view::npos ? m_text.size() : found + what.size();
    }
    // Ends at the end of the line too: what is still open there is no string but text in a branch that is not taken.
    std::size_t end_of_quoted(char quote) const
    {
        std::size_t end = m_at + 1;
        while (end < m_text.size() && m_text[end] != quote && m_text[end] != '\n')
            end += m_text[end] == '\\' ? 2 : 1;
        return end + 1;
    }
    bool is_raw() const { return m_at > 0 && m_text[m_at - 1] == 'R'; }
    std::size_t end_of_raw() const
    {
        const std::size_t open = m_text.find('(', m_at);
        if (open == std::string_view::npos)
            return m_text.size();
        return end_of(")" + std::string(m_text.substr(m_at + 1, open - m_at - 1)) + "\"", open);
    }
    // A comment that begins in it may go on after the line.
    void blank_directive()
    {
        const std::size_t line = std::min(m_text.find('\n', m_at), m_text.size());
        const std::size_t comment = m_text.substr(0, line).find("/*", m_at);
        blank_to(comment == std::string_view::npos ? line : std::max(line, end_of("*/", comment + 2)));
    }

    std::string_view m_text;
    std::string m_out;
    std::size_t m_at = 0;
};

std::string_view word_before(std::string_view code, std::size_t end)
{
    const std::size_t last = end == 0 ? std::string_view::npos : code.find_last_not_of(k_blanks, end - 1);
    if (last == std::string_view::npos)
        return {};
    std::size_t start = last + 1;
    while (start > 0 && is_word(code[start - 1]))
        --start;
    return code.substr(start, last + 1 - start);
}

// What follows the last "template <...>" of a head. None if that never ends.
std::optional<std::string_view> without_template(std::string_view head)
{
    for (std::size_t found = head.find("template"); found != std::string_view::npos; found = head.find("template")) {
        std::size_t at = std::min(head.find_first_of("<;{", found), head.size());
        int depth = 0;
        for (; at < head.size(); ++at) {
            depth += head[at] == '<' ? 1 : head[at] == '>' ? -1 : 0;
            if (depth == 0)
                break;
        }
        if (at == head.size())
            return std::nullopt;
        head.remove_prefix(at + 1);
    }
    return head;
}

// What a place in a text belongs to, found by going outwards from it.
class Surroundings {
public:
    Surroundings(std::string_view code, std::size_t place) : m_code(code), m_place(place), m_begin(0)
    {
        bool statement_open = true;
        std::size_t at = place;
        while (at > 0 && !m_settled && !m_unclear) {
            const char c = m_code[--at];
            if (c == ')' || c == ']' || c == '}') {
                if (c == '}' && statement_open && m_parens.empty() && begins_a_declaration(at + 1)) {
                    m_begin = at + 1;
                    statement_open = false;
                }
                at = opener_of(at);
            } else if (c == ';' && statement_open) {
                m_begin = at + 1;
                statement_open = false;
            } else if ((c == '(' || c == '[') && statement_open) {
                m_parens.push_back(at);
            } else if (c == '{') {
                if (statement_open)
                    m_begin = at + 1;
                statement_open = false;
                leave_braces(at);
            }
        }
        m_walked = place - at;
    }

    std::size_t walked() const { return m_walked; }

    // The words by which others can come to what is here. None if that cannot be told.
    std::optional<std::vector<std::string_view>> words() const
    {
        if (m_unclear)
            return std::nullopt;
        std::vector<std::string_view> found = m_classes;
        const std::optional<std::string_view> declaration = without_template(statement());
        if (!declaration)
            return std::nullopt;
        const bool in_body = !m_bodies.empty();
        // A friend can be called without a mention of the class.
        const std::string_view head = in_body ? m_bodies.back() : *declaration;
        if (!found.empty() && !has_word(head, "friend"))
            return found;
        if (has_word(head, "operator"))
            return std::nullopt;
        const std::size_t before = found.size();
        // Of branches that a condition leaves out, each may have opened what is closed once: all of them count.
        for (const std::string_view body : m_bodies)
            add_name(word_before(body, std::min(body.find('('), body.size())), found);
        if (!in_body)
            for (const std::size_t paren : m_parens)
                add_name(word_before(m_code, paren), found);
        if (!in_body && m_parens.empty())
            add_declared(head, found);
        return found.size() == before ? std::nullopt : std::optional(found);
    }

private:
    static bool has_word(std::string_view text, std::string_view wanted)
    {
        bool found = false;
        for_each_word(text, [&](std::string_view word) { found |= word == wanted; });
        return found;
    }

    static void add_name(std::string_view word, std::vector<std::string_view>& found)
    {
        if (is_a_name(word))
            found.push_back(word);
    }

    static bool is_a_name(std::string_view word)
    {
        static constexpr std::array<std::string_view, 34> k_others{
            "if",      "for",      "while",     "switch",  "return",   "sizeof", "decltype", "catch", "noexcept",
            "alignas", "requires", "explicit",  "nullptr", "true",     "false",  "const",    "auto",  "void",
            "bool",    "char",     "short",     "int",     "long",     "float",  "double",   "this",  "default",
            "delete",  "static",   "constexpr", "inline",  "unsigned", "signed", "throw"};
        return !word.empty() && !is_one_of(word, k_others);
    }

    // After the body of a function or class another declaration begins; after a value in braces an expression goes on.
    bool begins_a_declaration(std::size_t at) const
    {
        const std::size_t next = m_code.find_first_not_of(k_blanks, at);
        return next != std::string_view::npos && (is_word(m_code[next]) || m_code[next] == '[' || m_code[next] == '~');
    }

    std::size_t opener_of(std::size_t at) const
    {
        int depth = 1;
        while (at > 0 && depth != 0) {
            const char c = m_code[--at];
            depth += c == ')' || c == ']' || c == '}' ? 1 : c == '(' || c == '[' || c == '{' ? -1 : 0;
        }
        return at;
    }

    // The statement around the place, to where its declaration ends.
    std::string_view statement() const
    {
        const std::size_t end = std::min(m_code.find_first_of(";{", m_place), m_code.size());
        return m_code.substr(m_begin, end - m_begin);
    }

    void leave_braces(std::size_t brace)
    {
        const std::size_t before = brace == 0 ? std::string_view::npos : m_code.find_last_of(";{}", brace - 1);
        const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
        const std::optional<std::string_view> head = without_template(m_code.substr(start, brace - start));
        if (!head) {
            m_unclear = true;
            return;
        }
        std::string_view class_name;
        bool after_key = false;
        bool of_file = false;
        for_each_word(head->substr(0, std::min(base_clause(*head), head->size())), [&](std::string_view word) {
            if (after_key && word != "final")
                class_name = word;  // the last: attributes may stand before it
            after_key |= is_class_key(word);
            of_file |= word == "namespace" || word == "extern";
        });
        if (after_key) {
            m_unclear = class_name.empty() || head->find('(') != std::string_view::npos;
            m_classes.push_back(class_name);
        } else if (of_file) {
            m_settled = true;
        } else {
            m_bodies.push_back(*head);
        }
    }

    // Where ": public Base" begins.
    static std::size_t base_clause(std::string_view head)
    {
        for (std::size_t at = head.find(':'); at != std::string_view::npos; at = head.find(':', at + 2))
            if (at + 1 >= head.size() || head[at + 1] != ':')
                return at;
        return std::string_view::npos;
    }

    // What is declared stands outside of parentheses, before the bases of a class.
    static void add_declared(std::string_view head, std::vector<std::string_view>& found)
    {
        head = head.substr(0, std::min(base_clause(head), head.size()));
        std::string_view last;
        std::size_t seen = 0;
        int depth = 0;
        for_each_word(head, [&](std::string_view word) {
            const auto start = static_cast<std::size_t>(word.data() - head.data());
            for (; seen < start; ++seen)
                depth += head[seen] == '(' ? 1 : head[seen] == ')' ? -1 : 0;
            if (depth != 0)
                return;
            const std::size_t next = head.find_first_not_of(k_blanks, start + word.size());
            const char follows = next == std::string_view::npos ? ';' : head[next];
            const bool introduced = is_class_key(last) || last == "using" || last == "enum" || last == "typename";
            if ((introduced || std::string_view(";=([,").find(follows) != std::string_view::npos) && is_a_name(word) &&
                !is_class_key(word))
                found.push_back(word);
            last = word;
        });
    }

    std::string_view m_code;
    std::size_t m_place;
    std::size_t m_begin;                      // of the statement
    std::vector<std::size_t> m_parens;        // those of the statement that are open at the place
    std::vector<std::string_view> m_classes;  // that it is inside of
    std::vector<std::string_view> m_bodies;   // the heads of the bodies that it is in; the last is the function's
    bool m_settled = false;
    bool m_unclear = false;
    std::size_t m_walked = 0;
};

}  // namespace

std::optional<Words> words_of_callers(std::span<const SourceText> texts, Words tellers)
{
    std::map<std::size_t, std::string> blanked;
    std::size_t walked = 0;
    std::size_t known = 0;
    while (known != tellers.size()) {
        known = tellers.size();
        if (known > k_most_words)
            return std::nullopt;
        const Words before = tellers;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const TextFacts& facts = *texts[i].facts;
            if (std::none_of(before.begin(), before.end(), [&](Word word) { return facts.uses(word); }))
                continue;
            const auto [place, is_new] = blanked.try_emplace(i);
            std::string& code = place->second;
            if (is_new) {
                const Joined joined = join_lines(texts[i].text);
                if (!joined.is_clear)
                    return std::nullopt;
                code = Blanking(joined.text).run();
            }
            bool unclear = false;
            for_each_word(code, [&](std::string_view word) {
                if (unclear || !before.contains(TextFacts::hash(word)))
                    return;
                const Surroundings around(code, static_cast<std::size_t>(word.data() - code.data()));
                walked += around.walked();
                const auto words = around.words();
                unclear = !words || walked > k_most_walked;
                if (words)
                    for (const std::string_view one : *words)
                        tellers.insert(TextFacts::hash(one));
            });
            if (unclear)
                return std::nullopt;
        }
    }
    return tellers;
}

}  // namespace hearth::compilers
