#pragma once

#include "compilers/command/plan.hpp"
#include "compilers/command/run_watched.hpp"
#include "watch/condition.hpp"

#include <string>
#include <vector>

// A step is a program that a watched compiler has started, and that is answered from the cache by itself: nvcc starts
// cicc and ptxas for each target. The compiler's own result depends on what its steps depend on, so each step tells the
// tree that it belongs to what it did, or would have done.

namespace hearth::command {

// Whether the tree can be told: it has to have been started in this directory.
bool can_tell(const std::string& step_of);

// The step ran, watched by itself. All that was seen is seen by the tree too.
void tell_what_ran(const std::string& step_of, const Ended& ended);

// The step did not run: its files were put where they belong, as these conditions of its result allow.
void tell_what_was_answered(const Plan& plan, std::vector<watch::Condition> conditions);

// In the tree: what its steps told. An Error: that is not known.
Result<std::vector<watch::Condition>> conditions_of_steps(const std::vector<std::string>& answered);
// Adds them to the tree's own, which were found in these places.
void add_conditions_of_steps(std::vector<watch::Condition> steps, const watch::Places& places,
                             watch::Conditions& conditions);

}  // namespace hearth::command
