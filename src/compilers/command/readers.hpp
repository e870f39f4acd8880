#pragma once

#include "watch/tree_log.hpp"

#include <string>
#include <vector>

namespace hearth::command {

// Variables that programs of a tree may have read where the recorder does not see it.
struct ReadUnseen {
    std::vector<std::string> names;
    bool all = false;       // any variable there is
    bool paths = false;     // the working directory, too
    std::string why_not{};  // a text uses something that is new each time
};

// Compilers ask for each variable by its name, which is seen. A shell takes them all at its start, and uses those that
// its text names. Of other programs nothing is known.
ReadUnseen read_unseen(const std::vector<watch::TreeProgram>& programs, const std::vector<std::string>& environment);

}  // namespace hearth::command
