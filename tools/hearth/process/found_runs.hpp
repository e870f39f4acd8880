#pragma once

#include "base/ready_mark.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hearth::cli {

// A run of this user on this machine.
struct FoundRun {
    int pid = 0;  // of one of its processes, the one with the lowest number
    base::ReadyMark mark;

    std::string process() const { return "/proc/" + std::to_string(pid); }
};

std::vector<FoundRun> find_runs();
// The run that a process of this user started or is part of. None: it is in no run, or is another user's.
std::optional<FoundRun> run_of(int pid);

}  // namespace hearth::cli
