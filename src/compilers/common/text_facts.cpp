#include "compilers/common/text_facts.hpp"

#include "base/text.hpp"
#include "base/wire.hpp"
#include "compilers/common/source_words.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace hearth::compilers {

namespace {

// Blanks and block comments, which may span lines.
std::string_view without_space(std::string_view text)
{
    while (true) {
        text = without_blanks(text);
        if (!text.starts_with("/*"))
            return text;
        const std::size_t end = text.find("*/", 2);
        if (end == std::string_view::npos)
            return {};
        text.remove_prefix(end + 2);
    }
}

// What may be looked at to read a text. Readers that start again at every mark would take hours for some texts that no
// person writes: for those nothing is said.
class Effort {
public:
    explicit Effort(std::string_view text) : m_left(text.size() * 16 + (std::size_t{64} << 10)) {}

    // False: it is spent.
    bool spend(std::size_t bytes)
    {
        m_left -= std::min(bytes, m_left);
        return m_left != 0;
    }

private:
    std::size_t m_left;
};

// Visits what follows the mark of a directive. Whatever could be one counts as one, in comments and strings too. The
// visitor says how many bytes it looked at. False: it gave up before the end.
template <class Visit>
bool for_each_directive(std::string_view joined, Visit&& visit)
{
    Effort effort(joined);
    for (const std::string_view mark : {"#", "%:", "?\?="})
        for (std::size_t at = joined.find(mark); at != std::string_view::npos; at = joined.find(mark, at + 1)) {
            const std::string_view behind = joined.substr(at + mark.size());
            const std::string_view directive = without_space(behind);
            const std::size_t skipped = behind.size() - directive.size();
            if (!effort.spend(skipped + visit(directive)))
                return false;
        }
    return true;
}

// Whether a line that begins as a directive is one as a whole: it may as well be the end of a comment or of a raw
// string, with code behind it.
bool is_nothing_else(std::string_view line)
{
    if (line.find("*/") != std::string_view::npos || line.find("/*") != std::string_view::npos)
        return false;
    for (std::size_t quote = line.find('"'); quote != std::string_view::npos; quote = line.find('"', quote + 1)) {
        static constexpr std::size_t k_longest_delimiter = 16;
        const std::size_t from = quote - std::min(quote, k_longest_delimiter + 1);
        const std::string_view before = line.substr(from, quote - from);
        const std::size_t close = before.rfind(')');
        if (close != std::string_view::npos && before.find_first_of(" (\\\t", close) == std::string_view::npos)
            return false;
    }
    return true;
}

// Comments, and directives that put nothing into the output by themselves. (A macro that is defined counts where it is
// used.)
bool is_silent(std::string_view line)
{
    static constexpr std::array<std::string_view, 10> k_silent{"define", "undef", "if",      "ifdef", "ifndef",
                                                               "elif",   "else",  "elifdef", "endif", "elifndef"};
    line = without_blanks(line);
    if (line.starts_with("//"))
        return true;
    if (!line.starts_with('#'))
        return false;
    line = without_blanks(line.substr(1));
    const auto end = static_cast<std::size_t>(std::find_if_not(line.begin(), line.end(), is_word) - line.begin());
    const std::string_view directive = line.substr(0, end);
    if (directive == "include" || directive == "include_next") {
        const std::string_view name = without_blanks(line.substr(end));
        return name.starts_with('<') || name.starts_with('"');  // else it is computed
    }
    return std::ranges::find(k_silent, directive) != k_silent.end();
}

constexpr std::uint8_t k_pasted_flag = 1;
constexpr std::uint8_t k_tangled_flag = 2;

void write_words(base::WireWriter& out, const std::vector<TextFacts::Word>& words)
{
    out.number(static_cast<std::uint32_t>(words.size()));
    for (const TextFacts::Word word : words)
        out.number(word);
}

std::vector<TextFacts::Word> read_words(base::WireReader& in)
{
    const auto count = in.number<std::uint32_t>();
    base::WireReader each(in.raw(std::uint64_t{count} * sizeof(TextFacts::Word)));
    std::vector<TextFacts::Word> words(each.rest() / sizeof(TextFacts::Word));
    for (TextFacts::Word& word : words)
        word = each.number<TextFacts::Word>();
    return words;
}

}  // namespace

TextFacts::Word TextFacts::hash(std::string_view word)
{
    // A hash of our own: facts are kept, and read by other builds of this library.
    static constexpr Word k_odd = 0x9E3779B97F4A7C15;
    const auto mix = [](Word state, Word more) {
        state = (state ^ more) * k_odd;
        return state ^ (state >> 32U);
    };
    Word state = word.size();
    for (; word.size() > sizeof(Word); word.remove_prefix(sizeof(Word))) {
        Word part = 0;
        std::memcpy(&part, word.data(), sizeof part);
        state = mix(state, part);
    }
    Word last = 0;
    std::memcpy(&last, word.data(), word.size());
    return mix(mix(state, last), k_odd);
}

void TextFacts::add_words_of(std::string_view text, std::vector<Word>& words)
{
    for_each_word(text, [&](std::string_view word) { words.push_back(hash(word)); });
}

// `rest` follows the word "define". Returns how much of it was looked at.
std::size_t TextFacts::define(std::string_view rest)
{
    rest = without_space(rest);
    const auto end = static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), is_word) - rest.begin());
    if (end == 0)
        return 0;
    // To the end of the line in which its last comment ends.
    std::size_t stop = std::min(rest.find('\n'), rest.size());
    std::size_t close = 0;
    for (std::size_t open = rest.substr(0, stop).find("/*"); open < stop;
         open = rest.substr(0, stop).find("/*", open + 2)) {
        if (close < open + 2)
            close = rest.find("*/", open + 2);
        stop = close == std::string_view::npos ? rest.size()
                                               : std::max(stop, std::min(rest.find('\n', close), rest.size()));
    }
    Definition definition{std::string(rest.substr(0, end)), {}, false};
    const std::string_view body = rest.substr(end, stop - end);
    for_each_word(body, [&](std::string_view word) { definition.body.push_back(hash(word)); });
    for (const std::string_view paste : {"##", "%:%:", "?\?=?\?=", "#?\?=", "?\?=#"})
        definition.pastes |= body.find(paste) != std::string_view::npos;
    m_definitions.push_back(std::move(definition));
    return stop;
}

void TextFacts::finish()
{
    for (std::vector<Word>* words : {&m_used, &m_in_directives}) {
        std::sort(words->begin(), words->end());
        words->erase(std::unique(words->begin(), words->end()), words->end());
    }
}

TextFacts TextFacts::of_source(std::string_view text)
{
    TextFacts facts;
    const Joined joined = join_lines(text);
    facts.m_is_tangled = !for_each_directive(joined.text, [&](std::string_view directive) {
        return directive.starts_with("define") ? facts.define(directive.substr(6)) : 0;
    });
    const std::string code = joined.is_clear ? code_only(joined.text) : joined.text;
    std::string_view rest = joined.text;
    while (!rest.empty()) {
        const std::string_view line = base::take_until('\n', rest);
        const auto at = static_cast<std::size_t>(line.data() - joined.text.data());
        if (!joined.is_clear || !is_silent(line) || !is_nothing_else(line))
            add_words_of(std::string_view(code).substr(at, line.size()), facts.m_used);
        if (!joined.is_clear || line.find('#') != std::string_view::npos || line.find("%:") != std::string_view::npos)
            add_words_of(line, facts.m_in_directives);
    }
    const bool pastes = std::ranges::any_of(facts.m_definitions, &Definition::pastes);
    facts.m_is_tangled |= !for_each_directive(joined.text, [&](std::string_view directive) {
        // A directive goes on behind a comment that ends in another line.
        const std::string_view line = directive.substr(0, directive.find('\n'));
        add_words_of(line, facts.m_in_directives);
        const auto at = static_cast<std::size_t>(directive.data() - joined.text.data());
        // Comments speak of includes too.
        if (pastes && directive.starts_with("include") && code[at] == directive.front()) {
            directive.remove_prefix(std::min(directive.find_first_not_of("include_next"), directive.size()));
            directive = without_space(directive);
            facts.m_includes_what_is_pasted |= !directive.empty() && !directive.starts_with('<') &&
                                               !directive.starts_with('"') && !directive.starts_with('\n');
        }
        return line.size();
    });
    facts.finish();
    return facts;
}

TextFacts TextFacts::of_option(std::string_view option)
{
    TextFacts facts;
    for (const std::string_view name : {"-D", "--define-macro"})
        if (option.starts_with(name)) {
            std::string_view rest = without_blanks(option.substr(name.size()));
            if (rest.starts_with('='))
                rest = without_blanks(rest.substr(1));
            facts.define(rest);
        }
    add_words_of(option, facts.m_in_directives);
    if (facts.m_definitions.empty())
        add_words_of(option, facts.m_used);
    facts.finish();
    return facts;
}

std::string TextFacts::encode() const
{
    base::WireWriter out;
    out.number(static_cast<std::uint8_t>((m_includes_what_is_pasted ? k_pasted_flag : 0) |
                                         (m_is_tangled ? k_tangled_flag : 0)));
    write_words(out, m_used);
    write_words(out, m_in_directives);
    for (const Definition& definition : m_definitions) {
        out.prefixed<std::uint32_t>(definition.name);
        out.number(static_cast<std::uint8_t>(definition.pastes));
        write_words(out, definition.body);
    }
    return std::move(out.out());
}

std::optional<TextFacts> TextFacts::decode(ByteView bytes)
{
    base::WireReader in(bytes);
    TextFacts facts;
    const auto flags = in.number<std::uint8_t>();
    facts.m_includes_what_is_pasted = (flags & k_pasted_flag) != 0;
    facts.m_is_tangled = (flags & k_tangled_flag) != 0;
    facts.m_used = read_words(in);
    facts.m_in_directives = read_words(in);
    while (!in.failed() && !in.at_end()) {
        Definition& definition = facts.m_definitions.emplace_back();
        definition.name = in.prefixed<std::uint32_t>();
        definition.pastes = in.number<std::uint8_t>() != 0;
        definition.body = read_words(in);
    }
    return in.failed() ? std::nullopt : std::optional(std::move(facts));
}

bool TextFacts::uses(Word word) const
{
    return std::binary_search(m_used.begin(), m_used.end(), word);
}

bool TextFacts::mentions(Word word) const
{
    return std::binary_search(m_in_directives.begin(), m_in_directives.end(), word) ||
           std::any_of(m_definitions.begin(), m_definitions.end(), [&](const Definition& definition) {
               return std::ranges::find(definition.body, word) != definition.body.end();
           });
}

bool may_have_directive(std::string_view source, std::string_view directive)
{
    bool found = false;
    const Joined joined = join_lines(source);
    const bool is_all = for_each_directive(joined.text, [&](std::string_view rest) {
        found |= rest.starts_with(directive);
        return std::size_t{0};
    });
    return found || !is_all;
}

bool may_have_line_directive(std::string_view source)
{
    // In one line: `#line 1 "x"`, `# 1 "x"`, perhaps behind the end of a comment.
    const auto is_one = [](std::string_view line) {
        for (const std::string_view mark : {"#", "%:", "?\?="}) {
            std::string_view rest = without_space(line);
            if (!rest.starts_with(mark))
                continue;
            rest = without_space(rest.substr(mark.size()));
            if (rest.starts_with("line") ||
                (!rest.empty() && base::is_digit(rest.front()) && rest.find('"') != std::string_view::npos))
                return true;
        }
        return false;
    };
    const Joined joined = join_lines(source);
    for (std::string_view lines = joined.text; !lines.empty();) {
        const std::string_view line = base::take_until('\n', lines);
        const std::size_t end = line.rfind("*/");
        if (is_one(line) || (end != std::string_view::npos && is_one(line.substr(end + 2))))
            return true;
    }
    return may_have_directive(source, "line");  // `# /*`, a new line, `*/ line 1 "x"`
}

}  // namespace hearth::compilers
