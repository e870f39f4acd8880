#pragma once

#include "hearth/lookup.hpp"

#include <cstdint>
#include <string>
#include <vector>

// The log of `hearth run`: what was compiled by the programs that it started, and by the programs that those started.
//
//   log  := line*      HEARTH_RUN_LOG names the file; several processes append to it, each line in one write
//   line := JSON "\n"  an object with Event's members (docs/json.md, `hearth run --log`)
//
// The drop-in libraries and `hearth exec` write it. `hearth run` and bench/trace/make_trace.py read it.

namespace hearth::run_log {

// One compile.
struct Event {
    std::string what{};     // "nvrtc", "nvjitlink", "nvvm", "command", "step" (of a command)
    std::string name{};     // the program's
    std::string outcome{};  // "hit", "waited", "miss", "rebuilt", "past_the_cache", "forbidden"
    std::string tier{};
    std::string reason{};
    Key key{};                // of the entry; all zeros: there is none
    std::uint64_t bytes = 0;  // of the result's outputs
    double spent_ms = 0;      // by the program, in this call
    double cost_ms = 0;       // what compiling it took: now on a miss, else as its entry says
    std::int64_t pid = 0;     // of the process that notes it
};

// Whether anybody wants to know: HEARTH_RUN_LOG names a file.
bool is_noting();
// Appends a line if anybody wants to know. What cannot be written is left out.
void note(const Event& event);

// From the result of get_or_compile() for `key`: all but what, name and the time spent.
Event event_of(const Lookup& lookup, const Key& key);

// Skips broken lines, such as those of a process that was killed while it wrote.
std::vector<Event> read(const std::string& path);

}  // namespace hearth::run_log
