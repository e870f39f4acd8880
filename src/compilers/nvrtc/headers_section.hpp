#pragma once

#include "format/manifest.hpp"
#include "hearth/explain.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hearth::nvrtc {

// The section "headers" of a result: one header per line, with enough of its digest to tell it from another. It
// explains to people why another request missed; nothing depends on it.
inline constexpr const char* k_headers_section = "headers";

std::string headers_section(const format::Manifest& manifest);

// The headers that differ, are only here, or are only there.
std::vector<Difference> compare_headers(std::string_view here, std::string_view there);

}  // namespace hearth::nvrtc
