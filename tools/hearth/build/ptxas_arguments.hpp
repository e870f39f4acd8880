#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hearth::cli {

// The parts of a call of ptxas that decide the result.
struct PtxasCall {
    std::vector<std::string> options;  // in their order, without inputs and the output
    std::vector<std::string> inputs;   // paths
    std::string output = "elf.o";      // ptxas's own default
    bool names_matter = false;         // the result holds the inputs' names
    std::string target;
};

// None if the call does more than compile PTX files into one file, or has an option that is not known here: such a call
// is left to ptxas itself.
std::optional<PtxasCall> read_ptxas_call(const std::vector<std::string>& words);

// Whether ptxas compiles nothing with these words, because it is only asked for its version, for example.
bool only_tells(const std::vector<std::string>& words);

}  // namespace hearth::cli
