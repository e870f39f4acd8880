#pragma once

#include "hearth/result.hpp"

#include <string>
#include <string_view>

// Rules for what programs give to compilers, whichever compiler it is.

namespace hearth::compilers {

// Compilers take zero-terminated strings: what follows a zero would silently be left out. `what`: "The source", as the
// error shall call it.
Status check_text(std::string_view what, std::string_view text);

// The target of a program that names it apart from its options, where "device" is this machine's first GPU; empty if it
// does not. An Error if the options name one too (`in_options`).
Result<std::string> named_target(const std::string& target, const std::string& in_options);

}  // namespace hearth::compilers
