#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hearth::cli {

// What a call of ptxas asks for, as far as it decides the result.
struct PtxasCall {
    std::vector<std::string> options;  // in their order, without inputs and the output
    std::vector<std::string> inputs;   // paths
    std::string output = "elf.o";      // ptxas's own default
    bool names_matter = false;         // the result holds the inputs' names
    std::string target;
};

// None where the call does more than turn files of PTX into one file, or has an option that is not known here: then it
// is for ptxas itself.
std::optional<PtxasCall> read_ptxas_call(const std::vector<std::string>& words);

// Whether ptxas compiles nothing when it is called so: it was asked for its version, say.
bool only_tells(const std::vector<std::string>& words);

}  // namespace hearth::cli
