#pragma once

#include "hearth/bytes.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The names of nvcc's temporary files, which are new each time. Its steps write some of them into their outputs. These
// are kept without them, and given again with the names of the call that asks.

namespace hearth::command {

// "/tmp/tmpxft_000026e4_00000000-6_x.ptx"
bool is_temporary(std::string_view path);
// "x.ptx" of that.
std::string_view lasting_part(std::string_view temporary);

// None if it holds others than these, or what stands for them here.
std::optional<Bytes> without_names(std::string_view text, const std::vector<std::string>& names);

// None if `kept` was not made by without_names(), or has names that this call has not.
std::optional<std::string> with_names(std::string_view kept, const std::vector<std::string>& names);

}  // namespace hearth::command
