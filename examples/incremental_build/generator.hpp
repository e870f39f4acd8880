#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace eph {

// Modules and their sources: a program in layers. A module imports two of the layer below, and main all of the topmost.
std::map<std::string, std::string> generate(std::uint32_t modules);

// An edit as a person would make it: another number behind k_body or k_interface.
inline constexpr std::string_view k_body = "step_0 x = x x * ";
inline constexpr std::string_view k_interface = "export salt = ";
std::string edited(std::string source, std::string_view behind, std::uint64_t number);

}  // namespace eph
