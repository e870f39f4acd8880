#pragma once

#include "compilers/common/answer.hpp"
#include "compilers/nvrtc/library.hpp"
#include "compilers/nvrtc/option_facts.hpp"

#include <memory>
#include <string>
#include <vector>

namespace hearth::nvrtc {

// What a result shows of the place where it was compiled: options, and paths in the log. For compiling elsewhere.
struct Shown {
    std::vector<std::string> options;
    watch::Places places;
};

// A program with everything that is known before its compile.
struct Plan {
    std::vector<std::string> options;  // of the program, with its target
    OptionFacts facts;
    Identity compiler;
    std::vector<std::string> environment;  // what the compiler may have asked for when it was loaded: "NAME=value"
    std::string program_name;              // as NVRTC shows it
    std::uint64_t float_mode = compilers::k_usual_float_mode;  // of the thread: NVRTC folds constants in it
    watch::Places places;
    bool has_stable_name = false;  // the first include directory stands in for the program's own
    std::string why_past_the_cache;
    bool is_kept = true;                 // else what it depends on need not be known
    Request request;                     // the question
    std::shared_ptr<const Shown> shown;  // null: the place where it is compiled

    compilers::Question question() const;
};

// Checks the program, finds the compiler, and writes the request. Looks at no header.
Result<Plan> make_plan(Cache& cache, const Program& program, const CompileOptions& options);

// The request of a plan whose other members are known.
Request request_of(const Program& program, const Plan& plan);

// The places that a program itself names.
watch::Places places_of(const std::string& program_name, const OptionFacts& facts, std::string working_directory);

// Compiles a plan through the cache. Records nothing.
Result<compilers::Answer> compile_plan(Cache& cache, const Program& program, Plan plan);

// What NVRTC calls a program without a name.
inline constexpr std::string_view k_unnamed = "default_program";

}  // namespace hearth::nvrtc
