#pragma once

#include "compilers/command/plan.hpp"
#include "compilers/command/run_watched.hpp"
#include "compilers/common/answer.hpp"

namespace hearth::command {

// What the command did, for whoever asked, besides what is kept.
struct Done {
    bool ran = false;
    int code = 0;
    int signal = 0;
};

// How it is run and watched.
Watching watching_of(const Plan& plan);

// Runs the command under watch: what it wrote and said, and what that depends on.
Result<compilers::Watched> compile_now(Cache& cache, const Plan& plan, Done& done);

}  // namespace hearth::command
