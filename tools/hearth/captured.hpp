#pragma once

#include "hearth/result.hpp"
#include "run_child.hpp"

#include <string>
#include <vector>

namespace hearth::cli {

struct Captured {
    ChildEnd end;
    std::string out;
    std::string err;
};

// Runs a program to its end and keeps what it writes. An Error where it cannot be started, or how it ended cannot be
// learnt. It finds SIGPIPE and SIGCHLD as most programs do, whatever our caller did with them.
Result<Captured> run_captured(const std::vector<std::string>& command);

}  // namespace hearth::cli
