#pragma once

#include "compilers/common/text_questions.hpp"

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

namespace hearth::compilers {

// A function can learn the path of its caller by a default argument: `current(const char* file = __builtin_FILE())`.
// Whoever calls it may do so in many ways: by a conversion, an alias, an operator, a macro. Where a program's own texts
// have anything to do with it, their paths count as held by the output.
//
// NVIDIA's C++ libraries have such functions, which most programs that include them never call. So these libraries'
// texts, and no others, are read for who can call: by the function's name, or by that of its class.

// Whether the text is one of those libraries'.
bool is_of_cuda_libraries(std::string_view text);

// The words by which a text may come to one of `tellers`, which are the built-in functions themselves, macros that lead
// to them, and what was found so far. A call in the body of a function is none: it tells the path of its own text. None
// if a text that is not of the libraries uses one, or if it cannot be told.
std::optional<std::set<std::string>> words_of_callers(std::span<const SourceText> texts,
                                                      const std::unordered_set<TextFacts::Word>& tellers);

}  // namespace hearth::compilers
