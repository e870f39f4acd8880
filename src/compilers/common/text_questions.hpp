#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

// What watching a compiler cannot tell: whether its output may hold the time of the compile, or the path of a file. The
// answer is looked for in the texts that it read, and is no only where it clearly is: a text may be taken to mention
// what a comment or a string has, but nothing that a compiler would see is overlooked.

namespace hearth::compilers {

// One text, as far as these questions need it. Words are known by their hashes: two that share one can only make an
// answer more careful.
class TextFacts {
public:
    using Word = std::uint64_t;
    static Word hash(std::string_view word);

    struct Definition {
        std::string name;
        std::vector<Word> body;
        bool pastes = false;  // has ##
    };

    // Of a source: what stands behind #define counts only where the macro is used, and what stands behind #if not at
    // all.
    static TextFacts of_source(std::string_view text);
    // Of an option or a name expression: "-DNAME=body" is a definition, anything else is used.
    static TextFacts of_option(std::string_view option);

    bool uses(Word word) const;
    // Where a directive may take it from: in a line that may have one, or in what a macro stands for.
    bool mentions(Word word) const;
    // Has a computed #include, and macros with ##.
    bool includes_what_is_pasted() const { return m_includes_what_is_pasted; }
    const std::vector<Word>& used() const { return m_used; }
    const std::vector<Definition>& definitions() const { return m_definitions; }

private:
    static void add_words_of(std::string_view text, std::vector<Word>& words);
    void define(std::string_view rest);
    void finish();

    std::vector<Word> m_used;           // sorted
    std::vector<Word> m_in_directives;  // sorted
    std::vector<Definition> m_definitions;
    bool m_includes_what_is_pasted = false;
};

struct TextAnswers {
    bool may_hold_the_time = false;
    bool may_hold_any_path = false;           // of any file that was read
    std::vector<bool> may_hold_its_own_path;  // for each text
};

struct SourceText {
    const TextFacts* facts = nullptr;
    std::string_view text{};
};

// For all texts of a compile.
TextAnswers ask_texts(std::span<const SourceText> sources);

// Whether something in a source could be this directive, in a comment or a string too.
bool may_have_directive(std::string_view source, std::string_view directive);

// Whether it could give its lines another path: #line, or # 1 "file".
bool may_have_line_directive(std::string_view source);

// Whether every word of `path` is where a directive may take it from, so that a text could name that path itself.
bool may_name(std::span<const SourceText> texts, std::string_view path);

}  // namespace hearth::compilers
