#pragma once

#include "hearth/tier.hpp"

#include <string>

namespace hearth::config {

// "off", "stderr", or the path of a file that lines are appended to.
LogSink log_sink(const std::string& where);

}  // namespace hearth::config
