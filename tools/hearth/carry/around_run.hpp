#pragma once

#include "terminal/command_line.hpp"

#include <chrono>
#include <string>
#include <vector>

// Directories that are carried around a program that `hearth run` starts. Whatever fails here is a warning.

namespace hearth::cli::carry {

struct AroundRun {
    std::vector<std::string> names;
    std::string program;              // that is run
    std::chrono::milliseconds limit;  // how long the program waits for its directories at most
    bool push = false;                // what is captured afterwards, to the first server
};

// Brings what the directories lack, from the cache, and from the first server if that has something newer. Files that
// are there stay as they are. Fails only if a name is no tool. Returns what is to be captured afterwards: a directory
// that was not restored is not, since it would take the place of what it could not be given; and what the server has is
// not replaced by somebody who could not ask for it.
AroundRun restore_before(const Globals& globals, AroundRun around);

// Captures the directories, and pushes them if there is a server, in a process of its own that uses the machine only
// when nobody else does: it has no streams, no terminal, no descriptors of ours, and goes on when this process ends.
// The first process of a container takes all others with it when it ends, so there the capture is waited for.
void capture_after(const Globals& globals, const AroundRun& around);

}  // namespace hearth::cli::carry
