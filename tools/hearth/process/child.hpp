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

// This command ignores SIGPIPE, since a write to a closed pipe reports it. It does not ignore SIGCHLD, since otherwise
// children could not be waited for. What it starts or becomes gets both signals and the blocked signals as this process
// got them. Called once, at the start.
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
    std::string program{};  // the file to start, if it is not the command's first word
    std::vector<std::pair<std::string, std::optional<std::string>>> environment{};  // changes to ours; none: unset
};

// A process that was started, with our ends of its pipes. It can be moved but not copied. Its owner waits for it.
class Child {
public:
    // A name without a slash is searched for on PATH. An Error with a sentence if it cannot be started:
    // Code::not_found if there is no such program, Code::io if the system cannot create a process.
    static Result<Child> start(const std::vector<std::string>& command, const StartOptions& options = {});
    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) noexcept;
    ~Child();

    pid_t id() const { return m_id; }
    int in() const { return m_in; }  // -1 if it is not piped
    int out() const { return m_out; }
    int err() const { return m_err; }
    void close_in();

    // Closes the pipes and waits until it ends. An Error if the system cannot tell how it ended.
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

// Becomes the command: nothing of this process is left. Does not return. If the command cannot be started, this process
// ends as a shell would: with 127 if it is not found, and 126 if it cannot be run.
[[noreturn]] void replace_this_process(const std::vector<std::string>& command);

// Runs the command and waits for it. Signals that are sent to us meanwhile are passed on to it. If it cannot be
// started, that is printed, and the result is the exit code that a shell would give.
ChildEnd run_in_foreground(const std::vector<std::string>& command);

// Ends this process as the child ended, by the same signal if a signal ended it.
[[noreturn]] void end_as(const ChildEnd& end);

}  // namespace hearth::cli
