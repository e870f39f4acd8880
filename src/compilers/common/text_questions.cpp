#include "compilers/common/text_questions.hpp"

#include "base/text.hpp"
#include "compilers/common/callers.hpp"
#include "compilers/common/source_words.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>

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

std::string_view without_blanks(std::string_view text)
{
    const std::size_t first = text.find_first_not_of(" \t\v\f\r");
    return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

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

// Visits what follows the mark of a directive. Whatever could be one counts as one, in comments and strings too.
template <class Visit>
void for_each_directive(std::string_view joined, Visit&& visit)
{
    for (const std::string_view mark : {"#", "%:", "?\?="})
        for (std::size_t at = joined.find(mark); at != std::string_view::npos; at = joined.find(mark, at + 1))
            visit(without_space(joined.substr(at + mark.size())));
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

}  // namespace

Joined join_lines(std::string_view source)
{
    Joined joined;
    joined.is_clear = source.find("?\?") == std::string_view::npos;  // trigraphs
    joined.text.reserve(source.size());
    std::size_t from = 0;
    for (std::size_t at = source.find('\\'); at != std::string_view::npos; at = source.find('\\', at + 1)) {
        const std::string_view behind = without_blanks(source.substr(at + 1));
        if (!behind.starts_with('\n'))
            continue;
        joined.is_clear &= source[at + 1] == '\n';
        joined.text.append(source, from, at - from);
        at = static_cast<std::size_t>(behind.data() - source.data());
        from = at + 1;
    }
    joined.text.append(source, from);
    // Some compilers take this for the end of a continued line.
    for (std::size_t at = joined.text.find("?\?/\n"); at != std::string::npos; at = joined.text.find("?\?/\n", at))
        joined.text.erase(at, 4);
    return joined;
}

Word TextFacts::hash(std::string_view word)
{
    return std::hash<std::string_view>{}(word);
}

void TextFacts::add_words_of(std::string_view text, std::vector<Word>& words)
{
    for_each_word(text, [&](std::string_view word) { words.push_back(hash(word)); });
}

// `rest` follows the word "define".
void TextFacts::define(std::string_view rest)
{
    rest = without_space(rest);
    const auto end = static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), is_word) - rest.begin());
    if (end == 0)
        return;
    // To the end of the line in which its last comment ends.
    std::size_t stop = std::min(rest.find('\n'), rest.size());
    for (std::size_t open = rest.find("/*"); open < stop; open = rest.find("/*", open + 2)) {
        const std::size_t close = rest.find("*/", open + 2);
        stop = close == std::string_view::npos ? rest.size()
                                               : std::max(stop, std::min(rest.find('\n', close), rest.size()));
    }
    Definition definition{std::string(rest.substr(0, end)), {}, false};
    const std::string_view body = rest.substr(end, stop - end);
    for_each_word(body, [&](std::string_view word) { definition.body.push_back(hash(word)); });
    for (const std::string_view paste : {"##", "%:%:", "?\?=?\?=", "#?\?=", "?\?=#"})
        definition.pastes |= body.find(paste) != std::string_view::npos;
    m_definitions.push_back(std::move(definition));
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
    for_each_directive(joined.text, [&](std::string_view directive) {
        if (directive.starts_with("define"))
            facts.define(directive.substr(6));
    });
    std::string_view rest = joined.text;
    while (!rest.empty()) {
        const std::string_view line = base::take_until('\n', rest);
        if (!joined.is_clear || !is_silent(line) || !is_nothing_else(line))
            add_words_of(line, facts.m_used);
        if (!joined.is_clear || line.find('#') != std::string_view::npos || line.find("%:") != std::string_view::npos)
            add_words_of(line, facts.m_in_directives);
    }
    // A directive goes on behind a comment that ends in another line.
    for_each_directive(joined.text, [&](std::string_view directive) {
        const std::string_view line = directive.substr(0, directive.find('\n'));
        add_words_of(line, facts.m_in_directives);
    });
    const bool pastes = std::ranges::any_of(facts.m_definitions, &Definition::pastes);
    for_each_directive(joined.text, [&](std::string_view directive) {
        if (!pastes || !directive.starts_with("include"))
            return;
        directive.remove_prefix(std::min(directive.find_first_not_of("include_next"), directive.size()));
        directive = without_space(directive);
        facts.m_includes_what_is_pasted |= !directive.empty() && !directive.starts_with('<') &&
                                           !directive.starts_with('"') && !directive.starts_with('\n');
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

namespace {

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

// Visits every piece of every way to put `pasted` together from at least two pieces. Returns whether there is a way.
bool for_each_piece(const Pasted& pasted, const std::function<bool(std::string_view)>& is_piece,
                    const std::function<void(std::string_view)>& visit)
{
    const std::string_view name = pasted.name;
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

TextAnswers ask_texts(std::span<const SourceText> sources)
{
    TextAnswers answers;
    std::vector<const TextFacts*> texts;
    texts.reserve(sources.size());
    for (const SourceText& source : sources)
        texts.push_back(source.facts);
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
    for (std::size_t known = 0; found && callers.size() != known;) {
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

bool may_have_directive(std::string_view source, std::string_view directive)
{
    bool found = false;
    const Joined joined = join_lines(source);
    for_each_directive(joined.text, [&](std::string_view rest) { found |= rest.starts_with(directive); });
    return found;
}

namespace {

// `# /*`, a new line, `*/ line 1 "x"`.
bool may_hide_line_directive(std::string_view joined)
{
    bool found = false;
    for_each_directive(joined, [&](std::string_view rest) { found |= rest.starts_with("line"); });
    return found;
}

}  // namespace

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
    return may_hide_line_directive(joined.text);
}

bool may_name(std::span<const SourceText> texts, std::string_view path)
{
    bool all = true;
    // ## can put words together that stand nowhere.
    if (std::ranges::any_of(texts, [](const SourceText& text) { return text.facts->includes_what_is_pasted(); }))
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
