#pragma once

#include "hearth/bytes.hpp"
#include "hearth/result.hpp"

#include <string>
#include <vector>

namespace hearth::command {

// How a program ended, and what it wrote to the streams.
struct Ended {
    int code = 0;
    int signal = 0;
    bool lives_on = false;  // something that it started has kept its streams
    Bytes streams;          // both, in the order in which they were written: (stream:u8 size:u32 bytes)*
    Bytes log;              // what its recorders wrote down; empty: it was not watched
};

// Runs a program to its end, in this process's directory, environment and standard input. What it writes is passed on
// at once, and kept. `recorder`: the library that is put into every process of it; empty: it is not watched, and what
// it writes is not kept. `passes_signals`: signals that ask this process to end go to the program, while it runs.
// An Error if it cannot be started: Code::not_found if there is no such program.
Result<Ended> run_watched(const std::vector<std::string>& words, const std::string& recorder, bool passes_signals);

// Writes both streams again.
void write_streams(std::string_view streams);

}  // namespace hearth::command
