#pragma once

#include "hearth/bytes.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What one text has, as far as a cache has to know it. Nothing that a compiler would see is overlooked.

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

    //   flags:u8 used:words in_directives:words (name:str32 pastes:u8 body:words)*, where words: count:u32 (hash:u64)*
    std::string encode() const;
    // None if it is no encoding.
    static std::optional<TextFacts> decode(ByteView bytes);

    bool uses(Word word) const;
    // Where a directive may take it from: in a line that may have one, or in what a macro stands for.
    bool mentions(Word word) const;
    // Has a computed #include, and macros with ##.
    bool includes_what_is_pasted() const { return m_includes_what_is_pasted; }
    // Reading all of it would take too long: it may have anything.
    bool is_tangled() const { return m_is_tangled; }
    const std::vector<Word>& used() const { return m_used; }
    const std::vector<Definition>& definitions() const { return m_definitions; }

private:
    static void add_words_of(std::string_view text, std::vector<Word>& words);
    std::size_t define(std::string_view rest);
    void finish();

    std::vector<Word> m_used;           // sorted
    std::vector<Word> m_in_directives;  // sorted
    std::vector<Definition> m_definitions;
    bool m_includes_what_is_pasted = false;
    bool m_is_tangled = false;
};

// Whether something in a source could be this directive, in a comment or a string too.
bool may_have_directive(std::string_view source, std::string_view directive);

// Whether it could give its lines another path: #line, or # 1 "file".
bool may_have_line_directive(std::string_view source);

}  // namespace hearth::compilers
