#pragma once

#include "hearth/result.hpp"

#include <string>
#include <utility>

namespace hearth::cli {

// The exit codes of the command.
inline constexpr int k_done = 0;              // done, or a hit
inline constexpr int k_nothing = 1;           // a miss, or nothing found
inline constexpr int k_usage = 2;             // wrong usage
inline constexpr int k_failure = 3;           // a failure, with a sentence that says what to do
inline constexpr int k_compile_error = 4;     // the compiler found an error; its log says which
inline constexpr int k_not_executable = 126;  // as a shell has it: a program that cannot be run
inline constexpr int k_not_found = 127;       // and one that is not there

// Thrown inside the command only; main() prints the sentence and exits with the code.
struct Failure {
    std::string sentence;
    int code = k_failure;
};

[[noreturn]] inline void fail(std::string sentence)
{
    throw Failure{std::move(sentence)};
}

// The value, or a Failure with the error's sentence.
template <class Value>
Value or_fail(Result<Value> result)
{
    if (!result)
        fail(result.error().message);
    return *std::move(result);
}

[[noreturn]] inline void fail_usage(std::string sentence)
{
    throw Failure{std::move(sentence), k_usage};
}

// Thrown when the reader of our output has closed it: there is nobody to tell, and nothing went wrong.
struct ReaderLeft {};

}  // namespace hearth::cli
