#pragma once

#include <atomic>
#include <span>
#include <string_view>

// Functions that stand in a compiler library's import slots in place of libc's: each calls the original, notes what was
// asked and answered (note() in recording.hpp), and returns what the original did, with its errno.

namespace hearth::watch {

struct Recorder {
    const char* name;  // of the function that it stands in for
    void* function;
    std::atomic<void*>* original;
};

// Null if that function is not watched.
const Recorder* recorder_of(std::string_view name);

// Whether a function, judged by its name, asks the system nothing that a result could depend on. Neither this nor a
// recorder: whether a library that imports it can be watched is not known.
bool asks_nothing(std::string_view name);

}  // namespace hearth::watch
