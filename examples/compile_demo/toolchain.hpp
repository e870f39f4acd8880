#pragma once

#include "hearth/artifact.hpp"
#include "hearth/result.hpp"

#include <string>
#include <vector>

namespace demo {

// The machine's C++ compiler, and how the demo calls it.
struct Toolchain {
    std::string program;               // its path
    std::string identity;              // which build of it this is
    std::vector<std::string> options;  // that decide the output
    std::string suffix;                // of the output: .ll (LLVM IR) or .s (assembly)

    // clang++ where there is one, else g++.
    static hearth::Result<Toolchain> find();

    std::vector<std::string> command() const;

    // Compiles `source`. What the compiler says no to is Code::compile_failed with its log; the cache remembers that
    // too.
    hearth::Result<hearth::Artifact> compile(const std::string& source) const;
};

}  // namespace demo
