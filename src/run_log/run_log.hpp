#pragma once

#include "hearth/compiled.hpp"
#include "hearth/lookup.hpp"

#include <cstdint>
#include <string>
#include <vector>

// The log of `hearth run`: what was compiled by the programs that it started, and by the programs that those started.
//
//   log  := line*      HEARTH_RUN_LOG names the file; several processes append to it, each line in one write
//   line := JSON "\n"  an object with Event's members (docs/json.md, `hearth run --log`)
//
// The drop-in libraries, `hearth exec` and hearth.h write it. `hearth run` and bench/trace/make_trace.py read it.

namespace hearth::run_log {

// One compile.
struct Event {
    // "nvrtc", "nvjitlink", "nvvm", "command", "step" (of a command), "triton" and other frameworks, "library" (anybody
    // else who uses hearth.h)
    std::string what{};
    std::string name{};     // the program's
    std::string outcome{};  // "hit", "waited", "miss", "rebuilt", "past_the_cache", "forbidden"
    std::string tier{};
    std::string reason{};
    Key key{};                 // of the entry; all zeros: there is none
    std::uint64_t bytes = 0;   // of the result's outputs
    double spent_ms = 0;       // by the program, in this call
    double cost_ms = 0;        // what compiling it took: now on a miss, else as its entry says
    std::int64_t pid = 0;      // of the process that notes it
    bool after_ready = false;  // it was compiled after hearth::ready(); set by note()
};

// Whether anybody wants to know: HEARTH_RUN_LOG names a file.
bool is_noting();
// Appends a line if anybody wants to know. What cannot be written is left out.
void note(const Event& event);
// What a cache has to say, as CacheOptions::log.
void note_warning(LogLevel level, std::string_view text);

// From the result of get_or_compile() for `key`: all but what, name and the time spent.
Event event_of(const Lookup& lookup, const Key& key);
// The same of what a compiler of ours gave.
Event event_of(const CompileResult& result);
// Of what somebody else has compiled.
std::string what_of(const Metadata& metadata);

// Skips broken lines, such as those of a process that was killed while it wrote.
std::vector<Event> read(const std::string& path);

}  // namespace hearth::run_log
