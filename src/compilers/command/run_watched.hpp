#pragma once

#include "compilers/command/fixed_paths.hpp"
#include "hearth/bytes.hpp"
#include "hearth/result.hpp"

#include <array>
#include <string>
#include <sys/types.h>
#include <vector>

namespace hearth::command {

// How a program ended, and what it wrote to the streams.
struct Ended {
    int code = 0;
    int signal = 0;
    bool lives_on = false;  // something that it started has kept its streams
    Bytes streams{};        // both, in the order in which they were written: (stream:u8 size:u32 bytes)*
    Bytes log{};            // what its recorders wrote down; empty: it was not watched
    pid_t process = 0;
};

// How a program is run.
struct Watching {
    std::string recorder{};  // the library that is put into every process of it; empty: it is not watched
    std::string steps_by{};  // the command that answers its steps; empty: none does
    // The tree that it is a step of, by the value of its variable (watch/tree_record.hpp). Empty: of none.
    std::string step_of{};
    bool passes_signals = false;         // that ask this process to end, to the program, while it runs
    bool quiet = false;                  // what it writes is not passed on, and its standard input is empty
    std::array<bool, 2> as_terminals{};  // its output and its errors, if it is quiet; otherwise they are what ours are
    std::vector<FixedPath> links{};      // in its words, and not in what is passed on, which is then done at its end
};

// Runs a program to its end, in this process's directory, environment and standard input. What it writes is passed on
// at once, and kept.
// An Error if it cannot be started: Code::not_found if there is no such program.
Result<Ended> run_watched(const std::vector<std::string>& words, const Watching& watching);

// The same, but that nobody here watches it, and what it writes is not kept. A step is watched by the tree that it
// belongs to.
Result<Ended> run_straight(const std::vector<std::string>& words, const Watching& watching);

// Whether a stream of a step stands for a terminal of who started its tree.
bool is_terminal_of_tree(int stream, const std::string& step_of);

// Writes both streams again.
void write_streams(std::string_view streams);
// Both as one text.
std::string text_of_streams(std::string_view streams);

}  // namespace hearth::command
