#pragma once

#include <atomic>
#include <span>
#include <string>
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

// Why a library whose imports have these names cannot be watched: a phrase. Empty: it can.
template <class Names>
std::string why_not_watched(const Names& names)
{
    for (const auto& name : names)
        if (recorder_of(name) == nullptr && !asks_nothing(name))
            return "it imports \"" + std::string(name) + "\", and what that asks the system is not known";
    return {};
}

}  // namespace hearth::watch
