#pragma once

#include "format/manifest.hpp"

#include <string>
#include <string_view>

namespace hearth::nvrtc {

// Which paths of a request are in the log of its compile, and what each of them is. This is kept with the log, so that
// the same request elsewhere gets the log with its own paths.
std::string paths_in_log(std::string_view log, const std::string& program, const format::Manifest& manifest);

// The log as NVRTC would write it for this program and these headers. `paths` is what paths_in_log() gave when it was
// compiled.
std::string replay_log(std::string_view log, std::string_view paths, const std::string& program,
                       const format::Manifest& manifest);

}  // namespace hearth::nvrtc
