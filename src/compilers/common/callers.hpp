#pragma once

#include "compilers/common/text_questions.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>

namespace hearth::compilers {

// A function can learn the path of its caller by a default argument: `current(const char* file = __builtin_FILE())`.
// Whoever calls it has to mention something: the function, the class it belongs to, a function that takes such a class,
// an alias, a variable. This finds those words, from `tellers`, which are the built-in functions themselves and macros
// that lead to them. A text that uses none of them does not give its path away in this way. None if that cannot be
// told.
//
// It reads declarations coarsely: any word that something near could be declared as counts.
std::optional<std::unordered_set<TextFacts::Word>> words_of_callers(std::span<const SourceText> texts,
                                                                    std::unordered_set<TextFacts::Word> tellers);

}  // namespace hearth::compilers
