#pragma once

#include "hearth/ptx.hpp"

#include <string>
#include <vector>

namespace hearth::ptx {

// Which linker a compile would use, read from its files without loading it.
struct Identity {
    Linker linker = Linker::nvjitlink;
    std::string path;
    std::string build;  // exact for one build of it
};

// A program with its final options and name.
struct Job {
    std::string text;
    std::string name;
    std::vector<std::string> options;  // with the target, as nvJitLink takes them
    std::string target;
    Input input = Input::ptx;
};

// Finds the linker that is asked for: nvJitLink at the configured path, at HEARTH_NVJITLINK or everywhere
// hearth/libraries.hpp looks; the driver where the dynamic loader looks.
Result<Identity> identify(const CompileOptions& options);

// Loads the linker and links with it. The whole result, also of a failed link; an Error if it could not work at all.
Result<Artifact> link(const Identity& identity, const Job& job);

}  // namespace hearth::ptx
