#pragma once

#include "compilers/nvrtc/library.hpp"
#include "compilers/nvrtc/option_facts.hpp"
#include "format/manifest.hpp"

#include <memory>
#include <string>
#include <vector>

namespace hearth::nvrtc {

// What a result shows of the place where it was compiled: options, and paths in the log. For compiling elsewhere.
struct Places {
    std::vector<std::string> options;
    std::string program_name;
    format::Manifest manifest;  // the same headers, in the same order
};

// A program with everything that decides its result.
struct Plan {
    std::vector<std::string> options;  // of the program, with its target
    OptionFacts facts;
    Identity compiler;
    format::Manifest manifest;  // empty if the program asks for no headers
    Request request;
    std::string why_past_the_cache;

    std::string program_name;    // as NVRTC shows it
    std::string appended_flags;  // NVRTC_APPEND_FLAGS
    std::string working_directory;
    std::shared_ptr<const Places> shown;  // null: the place where it is compiled
};

// Checks the program, finds the compiler and the headers, and writes the request. A manifest that the cache remembers
// is used if nothing in it has changed; a new one is remembered.
Result<Plan> make_plan(Cache& cache, const Program& program, const CompileOptions& options);

// The same in two steps, for callers that find the headers in another way: everything but the headers...
Result<Plan> begin_plan(Cache& cache, const Program& program, const CompileOptions& options);
// ...and the headers, which complete the request.
void finish_plan(const Program& program, format::Manifest manifest, Plan& plan);
// Searches the files for the headers, and remembers nothing.
format::Manifest search_headers(const Program& program, const Plan& plan);

// What NVRTC calls a program without a name.
inline constexpr std::string_view k_unnamed = "default_program";
// NVRTC adds what this variable says to the options of every compile.
inline constexpr const char* k_appended = "NVRTC_APPEND_FLAGS";

}  // namespace hearth::nvrtc
