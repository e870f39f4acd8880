#pragma once

#include "watch/condition.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hearth::nvrtc {

// Where a program was compiled, as far as its log may show it.
struct LogPlaces {
    std::string_view program_name;
    const watch::Places& places;
};

// Which paths of a compile are in its log, and how each of them is found again. This is kept with the log, so that the
// same program elsewhere gets the log with its own paths.
std::string paths_in_log(std::string_view log, const LogPlaces& there, const std::vector<watch::Condition>& conditions);

// The log as NVRTC would write it here. `paths` is what paths_in_log() gave when it was compiled. With paths that no
// compile can have had the log stays as it is.
std::string replay_log(std::string_view log, std::string_view paths, const LogPlaces& here);

}  // namespace hearth::nvrtc
