#pragma once

#include "headers/scan.hpp"

#include <span>
#include <string>
#include <vector>

namespace hearth::nvrtc {

// What the options of a compile mean to a cache.
struct OptionFacts {
    std::vector<std::string> keyed;  // the options as they enter the key: without where the include directories are
    std::vector<std::string> include_directories;
    std::vector<std::string> pre_includes;
    std::vector<headers::Macro> defines;
    std::string target;  // the value of the last -arch, empty when there is none
    bool search_beside_program = true;
    bool paths_matter = false;  // the output holds the program's path, the working directory and headers' paths
    std::string bypass;         // why a compile with these options must not be cached; empty: it may be
};

// `options` as nvrtcCompileProgram takes them. An option NVRTC does not know is kept: it will say so itself.
OptionFacts read_options(std::span<const std::string> options);

}  // namespace hearth::nvrtc
