#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace hearth {

enum class LogLevel : std::uint8_t { info, warning };
using LogSink = std::function<void(LogLevel, std::string_view)>;

}  // namespace hearth
