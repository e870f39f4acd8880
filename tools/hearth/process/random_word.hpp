#pragma once

#include <string>

namespace hearth::cli {

// 32 hexadecimal digits that nobody can guess. Fails with a sentence.
std::string random_word();

}  // namespace hearth::cli
