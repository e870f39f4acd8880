#pragma once

#include <string>
#include <vector>

namespace hearth::cli {

// Runs the command that the words name, and returns its exit code.
int run_command(std::vector<std::string> words);

}  // namespace hearth::cli
