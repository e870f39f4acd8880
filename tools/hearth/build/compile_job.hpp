#pragma once

#include "build/compile_arguments.hpp"
#include "hearth/cache.hpp"
#include "hearth/explain.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace hearth::cli {

// One file compiled for one target.
struct CompileJob {
    std::string file;
    std::string target;  // as it was asked for; empty: as the options say, or the compiler's own choice
};

// What came of it.
struct CompileReport {
    CompileJob job;
    std::string key;
    std::string outcome;  // "hit", "miss", "past_the_cache", "error"
    std::string reason;   // why it is a miss, past the cache or an error
    std::string tier;
    std::string log;  // the compiler's
    std::chrono::nanoseconds took{0};
    std::vector<Section> sections;
    bool compiler_said_no = false;  // the compiler ran, and found an error in the source

    bool failed() const { return outcome == "error"; }
    const Section* section(std::string_view name) const;
    // The section that is written unless another is asked for.
    std::string usual_section() const;
};

// Fails with a sentence unless the name ends in .cu, .ptx or .cl.
void check_kind(const std::string& file);

// Every file for every target of --target, or else for this machine's first GPU. Without a GPU, CUDA sources are
// compiled for the newest target that NVRTC knows, and a line on standard error says so.
std::vector<CompileJob> jobs_of(Cache& cache, const CompileArguments& arguments);

CompileReport run_job(Cache& cache, const CompileArguments& arguments, const CompileJob& job);

// Whether run_job() would hit, and if not, why.
Result<Explanation> explain_job(Cache& cache, const CompileArguments& arguments, const CompileJob& job);

}  // namespace hearth::cli
