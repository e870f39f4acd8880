#pragma once

#include "watch/condition.hpp"

#include <string>
#include <vector>

namespace hearth::command {

// Conditions in a form that two runs of one command have in common: sorted, each once, and without those that are new
// each time.
std::vector<watch::Condition> comparable(const std::vector<watch::Condition>& conditions);

// The first thing that one result depends on and the other does not, a file if there is any. Empty: they depend on the
// same. Both lists are comparable().
std::string what_differs(const std::vector<watch::Condition>& recorded, const std::vector<watch::Condition>& now,
                         const watch::Places& places);

}  // namespace hearth::command
