#pragma once

#include <string>
#include <vector>

namespace hearth::cli {

// Runs the command that the words name, and returns its exit code. `called`: the name by which this program was
// started.
int run_command(const char* called, std::vector<std::string> words);

}  // namespace hearth::cli
