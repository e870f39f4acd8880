#pragma once

#include "hearth/key.hpp"
#include "hearth/tier.hpp"

#include <string>
#include <string_view>

namespace hearth::cli {

// `*` matches any characters, `?` one, `[a-c]` one of these, `[!a-c]` one of the others; `\` makes the next one plain.
// Both sides may hold any bytes; a byte that is not UTF-8 is a character of its own.
bool glob_matches(std::string_view glob, std::string_view text);

// The entries that `ls`, `rm` and `export` take: those whose label is the text or matches it as a glob, those whose key
// begins with it (eight digits or more), and the one that `put` stored under it.
class Pattern {
public:
    explicit Pattern(std::string text);
    bool matches(const EntryRow& entry) const;

    static constexpr const char* k_help =
        "A label (with *, ? and [a-z] as wildcards), a key given to put, or at least the first 8 digits of a key";

private:
    std::string m_text;
    Key m_key;
};

}  // namespace hearth::cli
