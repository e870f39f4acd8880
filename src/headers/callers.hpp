#pragma once

#include "headers/mentions.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

namespace hearth::headers {

// A joined text, and every word of its lines that are no directives.
struct Worded {
    std::string_view joined;
    const std::unordered_set<std::string_view>* words = nullptr;
};

// Some functions learn the path of whoever calls them, by a default argument: `current(const char* file =
// __builtin_FILE())`. Found are the words by which code gets there: the built-in functions themselves, functions that
// have such a default, functions that hand one on, classes built of them, macros that mention any of these. A file in
// whose code none of them stands cannot have its path in the output by this way. None when that cannot be told.
std::optional<Macros::Words> words_that_tell_the_caller(std::span<const Worded> texts, const Macros& macros,
                                                        const Mentions& mentions);

// The text with comments, strings, characters and directives made blank; what is left stands where it stood.
std::string code_only(std::string_view joined);

// The names that have to be mentioned to get at what stands at `place` in code: of the function whose default argument
// it is part of, of the class or alias. Empty: it is used where it stands. None when that cannot be told.
// `brings_equals`: a macro stands there whose expansion has the = of a default in it.
std::optional<Macros::Words> names_that_lead_to(std::string_view code, std::size_t place, bool brings_equals = false);

}  // namespace hearth::headers
