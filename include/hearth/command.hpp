#pragma once

#include "hearth/compiled.hpp"
#include "hearth/explain.hpp"

#include <string>
#include <string_view>
#include <vector>

// Compilers that are programs (nvcc, ptxas, gcc, clang, ...), through the cache.

namespace hearth::command {

struct Command {
    std::vector<std::string> words;  // the path of the program, then its arguments
};

enum class Serves : std::uint8_t {
    compilers,  // commands of compilers that are known, which are not asked for more than files
    anything,   // any command, at the user's word that running it again would give the same files
};

struct RunOptions {
    std::string recorder{};  // the path of libhearth_recorder.so, which sees what the command asks
    Serves serves = Serves::compilers;
    // The path of the command `hearth`, which then answers the steps of a compiler that starts other programs, such as
    // nvcc, each by itself. Empty: they run as they are.
    std::string steps_by{};
    // It is such a step, of the tree that this names (HEARTH_TREE_LOG, as `hearth exec --step` finds it).
    std::string step_of{};
    bool passes_signals = false;  // that ask this process to end, to the command, for as long as it runs
};

// How a command ended. On a hit it did not run: its files and its output are as if it had.
struct Ran {
    int code = 0;
    int signal = 0;        // that ended it; 0: none did
    bool compiles = true;  // false: it only links, or tells something
    Outcome outcome = Outcome::hit;
    std::string reason{};  // why it missed, or went past the cache
    std::string tier{};    // that hit
    std::string label{};
    Key key{};
    std::chrono::nanoseconds cost{0};  // of the compile
};

// Runs the command in this process's directory, environment and streams, or does what it would have done.
// An Error means that it could not be run at all: Code::not_found, or Code::compile_forbidden.
HEARTH_API Result<Ran> run(Cache& cache, const Command& command, const RunOptions& options);

// Whether a program of this name, or at this path, is a compiler that is known.
HEARTH_API bool is_compiler(std::string_view program);

// Whether run() would hit, and if not, what is different.
HEARTH_API Result<Explanation> explain(Cache& cache, const Command& command, const RunOptions& options);

}  // namespace hearth::command
