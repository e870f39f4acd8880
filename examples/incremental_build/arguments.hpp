#pragma once

#include "hearth/result.hpp"
#include "hearth/vram.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace demo {

struct Arguments {
    std::uint32_t modules = 200;
    std::uint64_t seed = 1;
    std::string directory{};  // empty: a temporary one
    hearth::device::Backend backend = hearth::device::Backend::automatic;
    bool json = false;
    bool again = false;
    bool help = false;
};

extern const char* const k_help;

// What stands behind the program's name on the command line.
hearth::Result<Arguments> parse_arguments(std::span<const char* const> words);

}  // namespace demo
