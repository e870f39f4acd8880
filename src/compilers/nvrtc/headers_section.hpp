#pragma once

#include "format/manifest.hpp"
#include "hearth/explain.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hearth::nvrtc {

// The section "headers" of a result: a header a line, and enough of its digest to tell it from another. For people who
// ask why another request missed; nothing is decided by it.
inline constexpr const char* k_headers_section = "headers";

std::string headers_section(const format::Manifest& manifest);

// The headers that are different, only here, or only there.
std::vector<Difference> compare_headers(std::string_view here, std::string_view there);

}  // namespace hearth::nvrtc
