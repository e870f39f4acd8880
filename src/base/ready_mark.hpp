#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// How the processes of a `hearth run` know whether the program is still starting.
//
// The mark is a file in memory that `hearth run` opens and leaves open for the program. It has no path, so nobody can
// delete it, and nobody can take its name before. Processes find it among their own descriptors, which they inherit, or
// else among those of the process that opened it, /proc/PID/fd, where the system lets only processes of the same user
// in. They know it by its random name. Whoever says that the program is ready seals the mark, which cannot be undone.
//
// A mark that cannot be found counts as sealed: where late compiles are forbidden, losing it allows none.

namespace hearth::base {

// Names the mark for all processes of a run, as ReadyMark::text() does.
inline constexpr const char* k_ready_variable = "HEARTH_READY_MARK";

class ReadyMark {
public:
    enum class State : std::uint8_t { starting, ready, lost };

    // A new one, for this process and all that it starts. None, with errno: the system gives none.
    static std::optional<ReadyMark> make();
    // "4711/200/0123456789abcdef": the process that opened it, its descriptor, its name. None: it is no such text.
    static std::optional<ReadyMark> parse(std::string_view text);
    // The one in this process's environment. None: it is in no run.
    static std::optional<ReadyMark> of_this_run();

    std::string text() const;
    // The path by which a process, such as "/proc/4711", has it; it may be in a container. Empty: it has lost it.
    std::string path_in(const std::string& process) const;
    State state(const std::string& process = "/proc/self") const;
    // False, with errno: it could not be sealed.
    bool seal(const std::string& process = "/proc/self") const;

private:
    ReadyMark(int process, int descriptor, std::string name);
    int open(const std::string& process) const;

    int m_process;
    int m_descriptor;  // in that process and in what inherited it
    std::string m_name;
};

}  // namespace hearth::base
