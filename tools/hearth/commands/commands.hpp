#pragma once

#include <string>
#include <vector>

namespace hearth::cli {

// Runs the command that the words name, and answers its exit code.
int run_command(std::vector<std::string> words);

}  // namespace hearth::cli
