#pragma once

#include "compilers/nvrtc/library.hpp"
#include "compilers/nvrtc/option_facts.hpp"
#include "format/manifest.hpp"

#include <memory>
#include <string>
#include <vector>

namespace hearth::nvrtc {

// What stands in a result of where it was compiled, for who compiles elsewhere: options, and paths in the log.
struct Places {
    std::vector<std::string> options;
    std::string program_name;
    format::Manifest manifest;  // as many headers, in the same order
};

// A program, with all that decides its result found out.
struct Plan {
    std::vector<std::string> options;  // of the program, with its target
    OptionFacts facts;
    Identity compiler;
    format::Manifest manifest;  // empty where the program asks for no headers
    Request request;
    std::string why_past_the_cache;

    std::string program_name;    // as NVRTC shows it
    std::string appended_flags;  // NVRTC_APPEND_FLAGS
    std::string working_directory;
    std::shared_ptr<const Places> shown;  // null: where it is compiled
};

// Checks the program, finds the compiler and the headers, and writes the request. A manifest that is remembered in the
// cache is used when nothing in it has changed; one that is found anew is remembered.
Result<Plan> make_plan(Cache& cache, const Program& program, const CompileOptions& options);

// The same in two steps, for who finds the headers in another way: everything but them...
Result<Plan> begin_plan(Cache& cache, const Program& program, const CompileOptions& options);
// ...and what they are, which makes the request whole.
void finish_plan(const Program& program, format::Manifest manifest, Plan& plan);
// Looks for them in the files, and remembers nothing.
format::Manifest search_headers(const Program& program, const Plan& plan);

// What NVRTC calls a program without a name.
inline constexpr std::string_view k_unnamed = "default_program";
// NVRTC adds what this variable says to the options of every compile.
inline constexpr const char* k_appended = "NVRTC_APPEND_FLAGS";

}  // namespace hearth::nvrtc
