#pragma once

#include "hearth/cache.hpp"

#include <string>

// Compiled into the drop-in libraries and into the command: both write the log, `hearth run` alone reads it.

namespace hearth::proxy {

// One compile, for the summary of `hearth run`: a line in the file that HEARTH_RUN_LOG names, where it names one.
struct Event {
    std::string what{};     // "nvrtc", "nvjitlink", "ptxas"
    std::string name{};     // the program's
    std::string outcome{};  // "hit", "coalesced", "miss", "bypassed", "forbidden", "past": without the cache at all
    std::string tier{};
    std::string reason{};
    double spent_ms = 0;
    double saved_ms = 0;
};
void note(const Event& event);

// Whether anybody wants to know: HEARTH_RUN_LOG names a file.
bool is_noting();

// What get_or_compile() gave: outcome, tier, reason and what was saved.
Event event_of(const Lookup& lookup);

}  // namespace hearth::proxy
