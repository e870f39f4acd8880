#pragma once

#include "hearth/result.hpp"

#include <string>
#include <string_view>

namespace demo {

// Whole files.
hearth::Result<std::string> read_file(const std::string& path);
hearth::Status write_file(const std::string& path, std::string_view text);

}  // namespace demo
