#pragma once

#include "compilers/common/answer.hpp"
#include "compilers/common/loaded_compiler.hpp"
#include "hearth/ptx.hpp"

#include <string>
#include <vector>

namespace hearth::ptx {

// Which linker a compile would use, read from its files without loading it.
struct Identity {
    Linker linker = Linker::nvjitlink;
    std::string path;
    std::string build;       // exact for one build of it
    std::string compiler{};  // the driver's compiler of PTX, a library of its own
    std::string its_build{};
};

// A program with its final options and name.
struct Job {
    std::string text;
    std::string name;
    std::vector<std::string> options;  // with the target, as nvJitLink takes them
    std::string target;
    Input input = Input::ptx;
};

// A job with everything that is known before it is done.
struct Plan {
    Job job;
    Identity linker;
    compilers::AskedOf asked;
    compilers::Question question;
};

// Checks the program, finds the linker, and writes the request.
Result<Plan> make_plan(Cache& cache, const Program& program, const CompileOptions& options = {});

// Finds the linker that is asked for: nvJitLink at the configured path, at HEARTH_NVJITLINK or everywhere
// hearth/libraries.hpp looks; the driver where the dynamic loader looks.
Result<Identity> identify(Cache& cache, const CompileOptions& options);

}  // namespace hearth::ptx
