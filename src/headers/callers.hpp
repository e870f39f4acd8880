#pragma once

#include "headers/mentions.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

namespace hearth::headers {

// A joined text, and every word of its lines that are not directives.
struct Worded {
    std::string_view joined;
    const std::unordered_set<std::string_view>* words = nullptr;
};

// Some functions learn the path of their caller by a default argument: `current(const char* file = __builtin_FILE())`.
// This finds the words by which code gets there: the built-in functions themselves, functions that have such a default,
// functions that pass one on, classes built with them, and macros that mention any of these. If a file has none of
// these words in its code, its path cannot get into the output in this way. None if that cannot be told.
std::optional<Macros::Words> words_that_tell_the_caller(std::span<const Worded> texts, const Macros& macros,
                                                        const Mentions& mentions);

// The text with comments, strings, characters and directives made blank; the rest keeps its place.
std::string code_only(std::string_view joined);

// The names that code has to mention to use what is at `place`: of the function whose default argument it is part of,
// or of the class or alias. Empty: it is used right there. None if that cannot be told. `brings_equals`: at that place
// is a macro whose expansion has the = of a default.
std::optional<Macros::Words> names_that_lead_to(std::string_view code, std::size_t place, bool brings_equals = false);

}  // namespace hearth::headers
