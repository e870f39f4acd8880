#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::test {

// Where a child process finds its standard output.
enum class Output : std::uint8_t {
    captured,     // in a pipe that is read to its end
    reader_left,  // in a pipe that nobody reads any more
    full_device,  // on /dev/full: every write fails with "no space left"
    closed,       // nowhere: the descriptor is not open
    terminal,     // on a terminal of 80 columns, as are its input and standard error
};

struct ProcessOptions {
    std::map<std::string, std::optional<std::string>> environment;  // set, or unset without a value
    std::string input{};                                            // what it reads
    std::string directory{};                                        // where it starts; here when empty
    Output output = Output::captured;
    std::chrono::seconds limit{60};  // then it is killed: a hang fails a test, it does not stop the run
};

struct ProcessResult {
    int exit_code = -1;  // -1 when a signal ended it
    int signal = 0;
    bool timed_out = false;
    std::string out;  // on a terminal: everything it wrote
    std::string err;
};

// Runs a program to its end. The first word is its path.
ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options = {});

}  // namespace hearth::test
