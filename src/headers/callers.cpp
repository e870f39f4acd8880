#include "headers/callers.hpp"

#include "headers/scan.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace hearth::headers {

namespace {

constexpr std::string_view k_blanks = " \t\v\f\r\n";
// A source may hold anything. After this many characters or rounds the search gives up: it cannot be told.
constexpr std::uint64_t k_patience = 50'000'000;
constexpr int k_most_rounds = 64;

bool is_one_of(std::string_view word, std::span<const std::string_view> words)
{
    return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_class_keyword(std::string_view word)
{
    static constexpr std::array<std::string_view, 3> k_keywords{"class", "struct", "union"};
    return is_one_of(word, k_keywords);
}

// Words that stand before a parenthesis like a function's name, and are none.
bool takes_parentheses(std::string_view word)
{
    static constexpr std::array<std::string_view, 8> k_keywords{"if",     "for",    "while",    "switch",
                                                                "return", "sizeof", "decltype", "catch"};
    return is_one_of(word, k_keywords);
}

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
    // Ends at the end of the line too: what is still open there is not a string but text in a branch that is not taken.
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
        std::size_t line = std::min(m_text.find('\n', m_at), m_text.size());
        const std::size_t comment = m_text.substr(0, line).find("/*", m_at);
        blank_to(comment == std::string_view::npos ? line : std::max(line, end_of("*/", comment + 2)));
    }

    std::string_view m_text;
    std::string m_out;
    std::size_t m_at = 0;
};

// Goes from a place backwards through what encloses it.
class Outwards {
public:
    Outwards(std::string_view code, std::size_t place, bool brings_equals, std::uint64_t& patience)
        : m_code(code), m_place(place), m_at(place), m_patience(patience), m_equals(brings_equals),
          m_any_equals(brings_equals)
    {
    }

    std::optional<Macros::Words> names()
    {
        while (m_at > 0 && !m_settled && !m_unclear)
            step();
        if (!m_settled) {
            leave_statement();
            settle_function({});
        }
        const std::uint64_t walked = m_place - m_at;
        m_unclear |= walked > m_patience;
        m_patience -= std::min(m_patience, walked);
        if (m_unclear)
            return std::nullopt;
        return std::move(m_names);
    }

private:
    void step()
    {
        const char c = m_code[--m_at];
        if (c == ';' || (c == '}' && ends_a_definition()))
            leave_statement();
        if (c == ')' || c == ']' || c == '}')
            skip_block();
        else if (c == '(')
            leave_parentheses();
        else if (c == '{')
            leave_braces();
        else if (m_statement_left)
            return;  // belongs to another statement
        else if (c == ',')
            m_comma = true;
        else if (c == '=')
            see_equals();
        else if (c == ':')
            see_colon();
        else if (c == '<')
            ++m_open_angles;
        else if (c == '>')
            --m_open_angles;
        else if (is_word(c))
            see_word(word_ending_at(m_at + 1));
    }

    // After the body of a function or class another declaration begins; after a value in braces the expression goes on.
    bool ends_a_definition() const
    {
        const std::size_t next = m_code.find_first_not_of(k_blanks, m_at + 1);
        return next != std::string_view::npos && (is_word(m_code[next]) || m_code[next] == '[' || m_code[next] == '~');
    }

    // From a closing bracket to the one that opens it.
    void skip_block()
    {
        int depth = 1;
        while (m_at > 0 && depth != 0) {
            const char c = m_code[--m_at];
            depth += c == ')' || c == ']' || c == '}' ? 1 : c == '(' || c == '[' || c == '{' ? -1 : 0;
        }
    }

    void leave_parentheses()
    {
        if (m_equals) {
            const std::string_view name = word_ending_at(end_of_word_before(m_at));
            m_unclear = name.empty() || name == "operator";
            if (!m_unclear && !takes_parentheses(name) && m_function.empty()) {
                m_function = name;
                m_in_declaration = true;
            }
        }
        forget_statement();
    }

    // Finds the function whose default argument it is, if it is one. For a static member the class is taken: a caller
    // names it too, and its name is less often used for something else.
    void settle_function(std::string_view class_name)
    {
        m_settled = true;
        if (!m_function.empty())
            m_names.emplace(m_static && !class_name.empty() ? class_name : std::string_view(m_function));
    }

    void leave_braces()
    {
        const std::string_view head = head_before(m_at);
        bool names_a_class = false;
        bool of_file = false;
        for_each_identifier(head, [&](std::string_view word) {
            names_a_class |= is_class_keyword(word);
            of_file |= word == "namespace" || word == "extern";
        });
        if (names_a_class) {
            const std::string name = class_named_in(head);
            if (m_function.empty() && belongs_to_class())
                m_names.emplace(name);
            leave_statement();
            settle_function(name);
            return;
        }
        if (of_file || head.find(')') != std::string_view::npos) {
            // The body of a function: the place is used here.
            leave_statement();
            settle_function({});
            return;
        }
        m_was_initialised = true;  // S s{...}, or a block of a function
        forget_statement();
    }

    // In a class: a base, a member's type or a member's initial value, but not a declared function.
    bool belongs_to_class() const
    {
        const std::size_t next = m_code.find_first_not_of(k_blanks, end_of_place());
        const bool called = next != std::string_view::npos && m_code[next] == '(';
        return !called || m_any_equals || m_was_initialised;
    }

    // Everything between the statement's beginning and the place has been seen.
    void leave_statement()
    {
        if (m_statement_left)
            return;
        if (m_function.empty()) {
            if (m_template && m_any_equals && m_template_open)
                m_unclear = true;  // the default of a template's parameter
            if (m_typedef) {
                const std::size_t end = std::min(m_code.find(';', m_place), m_code.size());
                const std::string_view name = word_ending_at(end_of_word_before(end));
                m_unclear |= name.empty();
                m_names.emplace(name);
            }
            if (m_using && !m_alias.empty())
                m_names.emplace(m_alias);
            if (!m_base_of.empty())
                m_names.emplace(m_base_of);
        }
        m_in_declaration = false;
        m_was_initialised |= m_any_equals;
        forget_statement();
        m_statement_left = true;
    }

    void forget_statement()
    {
        m_equals = m_any_equals = m_comma = m_template = m_template_open = m_typedef = m_using = m_colon = false;
        m_statement_left = false;
        m_open_angles = 0;
        m_alias.clear();
        m_base_of.clear();
    }

    void see_equals()
    {
        // Not the = of ==, <=, +=, ...
        const bool part_of_another =
            (m_at + 1 < m_code.size() && m_code[m_at + 1] == '=') ||
            (m_at > 0 && std::string_view("=!<>+-*/%&|^").find(m_code[m_at - 1]) != std::string_view::npos);
        if (part_of_another)
            return;
        m_any_equals = true;
        m_equals |= !m_comma;
        m_alias = word_ending_at(end_of_word_before(m_at));
    }

    void see_colon()
    {
        if (m_at > 0 && m_code[m_at - 1] == ':')
            --m_at;
        else
            m_colon = true;
    }

    void see_word(std::string_view word)
    {
        m_at -= word.size() - 1;
        m_static |= m_in_declaration && word == "static";
        if (is_class_keyword(word) && m_colon && m_base_of.empty())
            m_base_of = class_named_in(m_code.substr(m_at, m_place - m_at));
        if (word == "template") {
            m_template = true;
            m_template_open = m_open_angles > 0;
        }
        m_typedef |= word == "typedef";
        m_using |= word == "using";
    }

    std::size_t end_of_word_before(std::size_t place) const
    {
        const std::size_t last = place == 0 ? std::string_view::npos : m_code.find_last_not_of(k_blanks, place - 1);
        return last == std::string_view::npos ? 0 : last + 1;
    }
    std::string_view word_ending_at(std::size_t end) const
    {
        std::size_t start = end;
        while (start > 0 && is_word(m_code[start - 1]))
            --start;
        return m_code.substr(start, end - start);
    }
    std::size_t end_of_place() const
    {
        std::size_t end = m_place;
        while (end < m_code.size() && is_word(m_code[end]))
            ++end;
        return end;
    }
    // Back to the end of the statement or block before.
    std::string_view head_before(std::size_t brace) const
    {
        const std::size_t before = brace == 0 ? std::string_view::npos : m_code.find_last_of(";{}", brace - 1);
        const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
        return m_code.substr(start, brace - start);
    }
    // "class API source_location final : public Base" names source_location.
    static std::string class_named_in(std::string_view head)
    {
        std::size_t start = 0;
        for_each_identifier(head, [&](std::string_view word) {
            if (is_class_keyword(word))
                start = static_cast<std::size_t>(word.data() - head.data()) + word.size();
        });
        std::string_view rest = head.substr(start);
        for (std::size_t at = rest.find(':'); at != std::string_view::npos; at = rest.find(':', at + 1)) {
            if (at + 1 < rest.size() && rest[at + 1] == ':')
                ++at;
            else
                rest = rest.substr(0, at);
        }
        rest = rest.substr(0, rest.find('<'));
        std::string name;
        for_each_identifier(rest, [&](std::string_view word) {
            if (word != "final")
                name = word;
        });
        return name;
    }

    std::string_view m_code;
    std::size_t m_place;
    std::size_t m_at;
    std::uint64_t& m_patience;
    Macros::Words m_names;
    std::string m_function;         // whose default argument the place is part of
    bool m_in_declaration = false;  // of that function
    bool m_static = false;
    bool m_settled = false;
    bool m_unclear = false;
    bool m_was_initialised = false;
    // About the statement, or the list in parentheses, that is being read backwards.
    bool m_equals = false;  // with no comma in between
    bool m_any_equals = false;
    bool m_comma = false;
    bool m_colon = false;
    bool m_template = false;
    bool m_template_open = false;
    bool m_typedef = false;
    bool m_using = false;
    bool m_statement_left = false;  // what is read now is before the statement
    int m_open_angles = 0;
    std::string m_alias;
    std::string m_base_of;
};

// Those of the macros whose expansion may have an =.
Macros::Words with_equals(const Macros::Words& names, const Macros& macros)
{
    Macros::Words found;
    std::size_t before = 0;
    int rounds = 0;
    do {
        if (++rounds > k_most_rounds)
            return names;
        before = found.size();
        for (const std::string& name : names)
            for (const Macros::Definition& definition : macros.definitions_of(name)) {
                bool has = definition.body.find('=') != std::string::npos;
                for_each_identifier(definition.body, [&](std::string_view word) { has |= found.contains(word); });
                if (has)
                    found.insert(name);
            }
    } while (found.size() != before);
    return found;
}

// Adds the names that lead to any of `words` in `code` to `found`. False: that cannot be told.
bool follow(std::string_view code, const Macros::Words& words, const Macros::Words& bring_equals,
            std::uint64_t& patience, Macros::Words& found)
{
    bool clear = true;
    for_each_identifier(code, [&](std::string_view word) {
        if (!clear || !words.contains(word))
            return;
        const auto place = static_cast<std::size_t>(word.data() - code.data());
        const auto names = Outwards(code, place, bring_equals.contains(word), patience).names();
        clear = names.has_value();
        if (clear)
            found.insert(names->begin(), names->end());
    });
    return clear;
}

}  // namespace

std::string code_only(std::string_view joined)
{
    return Blanking(joined).run();
}

std::optional<Macros::Words> names_that_lead_to(std::string_view code, std::size_t place, bool brings_equals)
{
    std::uint64_t patience = k_patience;
    return Outwards(code, place, brings_equals, patience).names();
}

std::optional<Macros::Words> words_that_tell_the_caller(std::span<const Worded> texts, const Macros& macros,
                                                        const Mentions& mentions)
{
    Macros::Words words{"__builtin_FILE", "__builtin_FILE_NAME", "__builtin_source_location"};
    std::uint64_t patience = k_patience;
    for (int round = 0; round < k_most_rounds; ++round) {
        const Macros::Words through = mentions.of(words);
        const Macros::Words bring_equals = with_equals(through, macros);
        Macros::Words found = words;
        found.insert(through.begin(), through.end());
        const Macros::Words all = found;
        for (const std::string& macro : through)
            for (const Macros::Definition& definition : macros.definitions_of(macro)) {
                // A macro that declares what its arguments name could declare anything.
                Macros::Words declared;
                if (!follow(definition.body, all, bring_equals, patience, declared))
                    return std::nullopt;
                for (const std::string& parameter : definition.parameters)
                    if (declared.contains(parameter))
                        return std::nullopt;
                found.merge(declared);
            }
        for (const Worded& text : texts)
            if (std::any_of(all.begin(), all.end(),
                            [&](const std::string& word) { return text.words->contains(word); }))
                if (!follow(code_only(text.joined), all, bring_equals, patience, found))
                    return std::nullopt;
        if (found == words)
            return words;
        words = std::move(found);
    }
    return std::nullopt;
}

}  // namespace hearth::headers
