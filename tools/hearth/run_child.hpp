#pragma once

#include "hearth/result.hpp"

#include <string>
#include <vector>

#include <sys/types.h>

namespace hearth::cli {

// Becomes the command: nothing of this process is left. Does not return; a command that cannot be started ends this
// process as a shell would, with 127 where it is not found and 126 where it cannot be run.
[[noreturn]] void replace_this_process(const std::vector<std::string>& command);

// This command ignores SIGPIPE, since a closed pipe is seen where it is written to, and does not ignore SIGCHLD, since
// children whose end is ignored cannot be waited for. A command that it becomes or runs gets both as we did. Called
// once, at the start.
void set_signals();

// As exec() takes them. They point into `command`.
std::vector<char*> as_arguments(const std::vector<std::string>& command);

struct ChildEnd {
    int code = 0;
    int signal = 0;  // that killed it; 0: none did
};

// Waits for it. An Error where its end cannot be learnt.
Result<ChildEnd> wait_for(pid_t child);

// Runs the command and waits for it. Signals that are sent to us meanwhile are handed on to it.
ChildEnd run_child(const std::vector<std::string>& command);

// Ends this process as the child ended, by the same signal where one ended it.
[[noreturn]] void end_as(const ChildEnd& end);

}  // namespace hearth::cli
