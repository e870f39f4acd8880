#pragma once

#include "compilers/nvrtc/library.hpp"
#include "compilers/nvrtc/option_facts.hpp"
#include "format/manifest.hpp"

#include <string>
#include <vector>

namespace hearth::nvrtc {

// A program, with all that decides its result found out.
struct Plan {
    std::vector<std::string> options;  // of the program, with its target
    OptionFacts facts;
    Identity compiler;
    format::Manifest manifest;  // empty where the program asks for no headers
    Request request;
    std::string bypass;

    std::string program_name;  // as NVRTC shows it
};

// Checks the program, finds the compiler and the headers, and writes the request. A manifest that is remembered in the
// cache is used when nothing in it has changed; one that is found anew is remembered.
Result<Plan> make_plan(Cache& cache, const Program& program, const CompileOptions& options);

}  // namespace hearth::nvrtc
