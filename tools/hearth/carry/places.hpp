#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli::carry {

// What a tool's default directory lies below.
enum class Base : std::uint8_t { none, home, cache, temporary };

// A tool that keeps what it compiles in a directory of its own.
struct Tool {
    std::string_view name;
    std::string_view variable;  // that names its directory
    std::string_view below;     // added to what the variable says
    Base base;
    std::string_view fallback;               // below the base, "%u" is the user; without a base there is no default
    std::vector<std::string_view> packages;  // of Python, whose versions identify what it compiles
    bool needs_toolkit = false;              // it calls nvcc, so that the CUDA toolkit's version does too
    bool needs_driver = false;               // the driver compiles
};

// Every tool that is known by name.
std::span<const Tool> tools();

// A directory to be carried.
struct Place {
    std::string name;       // of its tool, or the path itself
    std::string directory;  // absolute
    const Tool* tool = nullptr;
};

// What a word on the command line names: a tool, or with a slash in it a path. Fails with a sentence.
Place place_of(const std::string& word);

}  // namespace hearth::cli::carry
