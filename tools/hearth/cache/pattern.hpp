#pragma once

#include "hearth/key.hpp"
#include "hearth/tier.hpp"

#include <string>
#include <string_view>

namespace hearth {
class Cache;
}

namespace hearth::cli {

// `*` any characters, `?` one, `[a-c]` and `[!a-c]` one of some or of the others, `\` takes the next as it is.
// Both sides may hold any bytes; a character is one of UTF-8 where it is that.
bool glob_matches(std::string_view glob, std::string_view text);

// Which entries `ls`, `rm` and `export` mean: those whose label is the text or matches it as a glob, those whose key
// begins with it (eight digits or more), and the one that `put` stored under it.
class Pattern {
public:
    explicit Pattern(std::string text);
    bool matches(const EntryRow& entry) const;

    static constexpr const char* k_help =
        "A label (with *, ? and [a-z] as wildcards), a key given to put, or at least 8 first digits of a key";

private:
    std::string m_text;
    Key m_key;
};

bool anything_matches(Cache& cache, const Pattern& pattern);

}  // namespace hearth::cli
