#pragma once

#include "hearth/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

// The one way in which this command starts others.

namespace hearth::cli {

// This command ignores SIGPIPE, since a closed pipe is seen where it is written to, and does not ignore SIGCHLD, since
// children whose end is ignored cannot be waited for. What it starts or becomes gets both, and the signals that were
// blocked, as we did. Called once, at the start.
void set_signals();

struct ChildEnd {
    int code = 0;
    int signal = 0;  // that killed it; 0: none did
};

enum class Stream : std::uint8_t { ours, piped };

struct StartOptions {
    Stream in = Stream::ours;
    Stream out = Stream::ours;
    Stream err = Stream::ours;
    std::string program{};  // the file to start where it is not the command's first word
    std::vector<std::pair<std::string, std::optional<std::string>>> environment{};  // besides ours; none: unset
};

// A process that was started, with our ends of its pipes. Moved, not copied; whoever has it waits for it.
class Child {
public:
    // A name without a slash is looked for on PATH. An Error, a sentence, where it cannot be
    // started: Code::not_found where it is not there, Code::io where the system has no process for it.
    static Result<Child> start(const std::vector<std::string>& command, const StartOptions& options = {});
    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) noexcept;
    ~Child();

    pid_t id() const { return m_id; }
    int in() const { return m_in; }  // -1 where it is not piped
    int out() const { return m_out; }
    int err() const { return m_err; }
    void close_in();

    // Closes the pipes and waits for its end. An Error where that cannot be learnt.
    Result<ChildEnd> wait();

private:
    Child() = default;

    pid_t m_id = -1;
    int m_in = -1;
    int m_out = -1;
    int m_err = -1;
};

struct Captured {
    ChildEnd end;
    std::string out;
    std::string err;
};

// Runs a program to its end and keeps what it writes.
Result<Captured> run_captured(const std::vector<std::string>& command, StartOptions options = {});

// Becomes the command: nothing of this process is left. Does not return; a command that cannot be started ends this
// process as a shell would, with 127 where it is not found and 126 where it cannot be run.
[[noreturn]] void replace_this_process(const std::vector<std::string>& command);

// Runs the command and waits for it. Signals that are sent to us meanwhile are handed on to it. One that cannot be
// started is told of, and has ended as a shell would have it.
ChildEnd run_in_foreground(const std::vector<std::string>& command);

// Ends this process as the child ended, by the same signal where one ended it.
[[noreturn]] void end_as(const ChildEnd& end);

}  // namespace hearth::cli
