#pragma once

#include "hearth/tier.hpp"

#include <string>

namespace hearth::config {

// "off", "stderr", or the path of a file that lines are appended to.
LogSink log_sink(const std::string& where);
// The same sink, but what it throws goes no further: lines are logged where nothing may be thrown.
LogSink contained(LogSink sink);

}  // namespace hearth::config
