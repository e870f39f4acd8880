#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace hearth::nvrtc {

// What the options of a compile mean to a cache.
struct OptionFacts {
    std::vector<std::string> keyed;  // the options as they enter the key, without the paths of include directories
    std::vector<std::string> include_directories;
    std::string target;  // the value of the last -arch; empty if there is none
    // The output holds the program's path, the working directory and headers' paths: debug information, LTO-IR, OptiX
    // IR.
    bool paths_matter = false;
    bool precompiles = false;        // --pch, which changes nothing in the output
    std::string why_past_the_cache;  // why a compile with these options must not be cached; empty: it may be
};

// `options` as nvrtcCompileProgram takes them. An option that NVRTC does not know is kept, since NVRTC reports it.
OptionFacts read_options(std::span<const std::string> options);

// The options with every include directory replaced by what `place` returns. Their part of the key does not change.
std::vector<std::string> with_directories(std::span<const std::string> options,
                                          const std::function<std::string(const std::string&)>& place);

// The options for another target. It replaces theirs, or is added at the end if they have none.
std::vector<std::string> with_target(std::span<const std::string> options, const std::string& target);

}  // namespace hearth::nvrtc
