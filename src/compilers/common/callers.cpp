#include "compilers/common/callers.hpp"

#include "compilers/common/source_words.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace hearth::compilers {

namespace {

using Words = std::unordered_set<TextFacts::Word>;

constexpr std::string_view k_blanks = " \t\v\f\r\n";

bool is_class_key(std::string_view word)
{
    return word == "class" || word == "struct" || word == "union";
}

// The text with comments, strings, characters and directives made blank; the rest keeps its place. Unclear if branches
// of a condition open other braces than they close: what is open behind it depends on the branch.
class Blanking {
public:
    explicit Blanking(std::string_view text) : m_text(text), m_out(text) {}

    std::optional<std::string> run()
    {
        bool line_start = true;
        while (m_at < m_text.size()) {
            const char c = m_text[m_at];
            const bool behind_word = m_at > 0 && is_word(m_text[m_at - 1]);
            if (m_text.substr(m_at, 2) == "//")
                blank_to(m_text.find('\n', m_at));
            else if (m_text.substr(m_at, 2) == "/*")
                blank_to(end_of("*/", m_at + 2));
            else if (c == '#' && line_start)
                take_directive();
            else if ((c == '"' && behind_word) || (c == '\'' && behind_word && !base::is_digit(m_text[m_at - 1])))
                return std::nullopt;                           // a raw string, or a literal of some kind
            else if (c == '"' || (c == '\'' && !behind_word))  // 1'000 is a number
                blank_to(end_of_quoted(m_at));
            else {
                m_depth += c == '{' ? 1 : c == '}' ? -1 : 0;
                line_start = c == '\n' || (line_start && k_blanks.find(c) != std::string_view::npos);
                ++m_at;
            }
            line_start |= m_at > 0 && m_text[m_at - 1] == '\n';
        }
        return m_is_clear && m_depth == 0 && m_conditions.empty() ? std::optional(std::move(m_out)) : std::nullopt;
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
    // Ends before the end of the line: what is still open there is no string.
    std::size_t end_of_quoted(std::size_t start) const
    {
        std::size_t end = start + 1;
        while (end < m_text.size() && m_text[end] != m_text[start] && m_text[end] != '\n')
            end += m_text[end] == '\\' ? 2 : 1;
        return end < m_text.size() && m_text[end] == '\n' ? end : end + 1;
    }
    void take_directive()
    {
        const std::size_t line = std::min(m_text.find('\n', m_at), m_text.size());
        std::string_view directive = m_text.substr(m_at + 1, line - m_at - 1);
        directive.remove_prefix(std::min(directive.find_first_not_of(" \t"), directive.size()));
        if (directive.starts_with("if"))
            m_conditions.push_back(m_depth);
        else if (directive.starts_with("el") || directive.starts_with("endif"))
            m_is_clear &= !m_conditions.empty() && m_conditions.back() == m_depth;
        if (directive.starts_with("endif") && !m_conditions.empty())
            m_conditions.pop_back();
        // Comments in it may go on after the line.
        std::size_t end = m_at;
        while (end < m_text.size() && m_text[end] != '\n') {
            if (m_text.substr(end, 2) == "//")
                end = std::min(m_text.find('\n', end), m_text.size());
            else if (m_text.substr(end, 2) == "/*")
                end = end_of("*/", end + 2);
            else
                end = m_text[end] == '"' || m_text[end] == '\'' ? end_of_quoted(end) : end + 1;
        }
        blank_to(end);
    }

    std::string_view m_text;
    std::string m_out;
    std::size_t m_at = 0;
    int m_depth = 0;
    std::vector<int> m_conditions;  // the depths at which they began
    bool m_is_clear = true;
};

// A head without "template <...>". None if that never ends.
std::optional<std::string_view> without_template(std::string_view head)
{
    for (std::size_t found = head.find("template"); found != std::string_view::npos; found = head.find("template")) {
        std::size_t at = std::min(head.find('<', found), head.size());
        for (int depth = 0; at < head.size(); ++at) {
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

std::string_view last_word(std::string_view text)
{
    const std::size_t last = text.find_last_not_of(k_blanks);
    if (last == std::string_view::npos)
        return {};
    std::size_t start = last + 1;
    while (start > 0 && is_word(text[start - 1]))
        --start;
    return text.substr(start, last + 1 - start);
}

bool has_word(std::string_view text, std::string_view wanted)
{
    bool found = false;
    for_each_word(text, [&](std::string_view word) { found |= word == wanted; });
    return found;
}

// Goes through a text from its beginning, and knows of every place what it is inside of.
class Outline {
public:
    Outline(std::string_view code, const Words& tellers) : m_code(code), m_tellers(tellers) {}

    std::optional<std::set<std::string>> run()
    {
        for (std::size_t at = 0; at < m_code.size() && m_is_clear; ++at) {
            const char c = m_code[at];
            if (is_word(c)) {
                const std::size_t start = at;
                while (at + 1 < m_code.size() && is_word(m_code[at + 1]))
                    ++at;
                if (m_tellers.contains(TextFacts::hash(m_code.substr(start, at + 1 - start))))
                    take(start);
            } else if (c == '(') {
                m_parens.push_back(at);
            } else if (c == ')') {
                m_is_clear = !m_parens.empty();
                if (m_is_clear)
                    m_parens.pop_back();
            } else if (c == '{') {
                open(at);
            } else if (c == '}') {
                close(at);
            } else if (c == ';' && m_parens.empty()) {
                m_statement = at + 1;
            }
        }
        return m_is_clear && m_scopes.empty() ? std::optional(std::move(m_found)) : std::nullopt;
    }

private:
    struct Scope {
        enum class Kind : std::uint8_t { file, its_class, body, value };
        Kind kind = Kind::value;
        std::string_view name{};            // of a class
        std::vector<std::size_t> parens{};  // those that were open outside
        bool has_teller = false;
    };
    using Kind = Scope::Kind;

    std::string_view head_to(std::size_t end) const { return m_code.substr(m_statement, end - m_statement); }

    void open(std::size_t at)
    {
        const std::optional<std::string_view> head = without_template(head_to(at));
        if (!head) {
            m_is_clear = false;
            return;
        }
        Scope scope;
        const std::size_t last = head->find_last_not_of(k_blanks);
        const char before = last == std::string_view::npos ? ';' : (*head)[last];
        bool after_key = false;
        for_each_word(head->substr(0, std::min(base_clause(*head), head->size())), [&](std::string_view word) {
            if (after_key && word != "final")
                scope.name = word;  // the last: attributes may stand before it
            after_key |= is_class_key(word);
        });
        if (!m_parens.empty() || std::string_view("=,]").find(before) != std::string_view::npos ||
            has_word(*head, "enum"))
            scope.kind = Kind::value;
        else if (has_word(*head, "namespace") || has_word(*head, "extern"))
            scope.kind = Kind::file;
        else if (after_key && head->find('(') == std::string_view::npos)
            scope.kind = Kind::its_class;
        else if (head->find('(') != std::string_view::npos || is_in(Kind::body))
            scope.kind = Kind::body;
        scope.parens = std::move(m_parens);
        m_parens.clear();
        m_scopes.push_back(std::move(scope));
        if (m_scopes.back().kind != Kind::value)
            m_statement = at + 1;
    }

    void close(std::size_t at)
    {
        if (m_scopes.empty() || !m_parens.empty()) {
            m_is_clear = false;
            return;
        }
        const Scope scope = std::move(m_scopes.back());
        m_scopes.pop_back();
        m_parens = scope.parens;
        const std::size_t next = m_code.find_first_not_of(k_blanks, at + 1);
        const char follows = next == std::string_view::npos ? ';' : m_code[next];
        // What is declared behind a class can be called without its name. A body behind which the statement goes on
        // was the value of a member: `: a{1}, b{2} {}`.
        if (scope.kind == Kind::its_class && scope.has_teller && follows != ';')
            m_is_clear = false;
        if (scope.kind != Kind::value && !(scope.kind == Kind::body && (follows == ',' || follows == '{')))
            m_statement = at + 1;
    }

    bool is_in(Kind kind) const { return std::ranges::find(m_scopes, kind, &Scope::kind) != m_scopes.end(); }

    void take(std::size_t at)
    {
        const std::string_view head = head_to(at);
        if (is_in(Kind::body))
            return;
        if (m_parens.empty() && (is_class_key(last_word(head)) || is_called(at)))
            return;  // what is declared here, or a value that is found here
        // By these anything can be called.
        for (const std::string_view word : {"friend", "operator", "using", "typedef"})
            m_is_clear &= !has_word(head, word);
        bool in_class = false;
        for (Scope& scope : m_scopes)
            if (scope.kind == Kind::its_class) {
                in_class = true;
                scope.has_teller = true;
                add(scope.name);
            }
        if (in_class)
            return;
        m_is_clear &= !is_in(Kind::value) && !m_parens.empty();
        if (m_is_clear)
            add(last_word(m_code.substr(m_statement, m_parens.front() - m_statement)));
    }

    bool is_called(std::size_t at) const
    {
        while (at < m_code.size() && is_word(m_code[at]))
            ++at;
        at = m_code.find_first_not_of(k_blanks, at);
        if (at == std::string_view::npos || m_code[at] != '(' || is_in(Kind::its_class))
            return false;
        // `place (*get)()` declares another name.
        at = m_code.find_first_not_of(k_blanks, at + 1);
        return at != std::string_view::npos && m_code[at] != '*' && m_code[at] != '&' && m_code[at] != '(';
    }

    void add(std::string_view name)
    {
        static constexpr std::array<std::string_view, 10> k_no_names{
            "if", "while", "for", "switch", "decltype", "noexcept", "requires", "alignas", "explicit", "sizeof"};
        m_is_clear &= !name.empty() && std::ranges::find(k_no_names, name) == k_no_names.end();
        m_found.emplace(name);
    }

    // Where ": public Base" begins.
    static std::size_t base_clause(std::string_view head)
    {
        for (std::size_t at = head.find(':'); at != std::string_view::npos; at = head.find(':', at + 2))
            if (at + 1 >= head.size() || head[at + 1] != ':')
                return at;
        return std::string_view::npos;
    }

    std::string_view m_code;
    const Words& m_tellers;
    std::vector<Scope> m_scopes;
    std::vector<std::size_t> m_parens;  // that are open in the innermost scope
    std::size_t m_statement = 0;        // where it begins
    std::set<std::string> m_found;
    bool m_is_clear = true;
};

}  // namespace

bool is_of_cuda_libraries(std::string_view text)
{
    return text.find("NVIDIA CORPORATION") != std::string_view::npos && text.find("_CCCL_") != std::string_view::npos;
}

std::optional<std::set<std::string>> words_of_callers(std::span<const SourceText> texts, const Words& tellers)
{
    std::set<std::string> all;
    for (const SourceText& source : texts) {
        if (std::none_of(tellers.begin(), tellers.end(), [&](auto word) { return source.facts->uses(word); }))
            continue;
        const std::string_view text = source.whole();
        const Joined joined = join_lines(text);
        if (!joined.is_clear || !is_of_cuda_libraries(text))
            return std::nullopt;
        const std::optional<std::string> code = Blanking(joined.text).run();
        const auto found = code ? Outline(*code, tellers).run() : std::nullopt;
        if (!found)
            return std::nullopt;
        all.insert(found->begin(), found->end());
    }
    return all;
}

}  // namespace hearth::compilers
