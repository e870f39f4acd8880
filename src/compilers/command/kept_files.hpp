#pragma once

#include "compilers/command/plan.hpp"
#include "hearth/artifact.hpp"
#include "watch/tree_log.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hearth::command {

// What a command wrote, as sections of an entry, and back to where another call wants it.

// The section of what it said, as run_watched() keeps it. Each of the files has a section "output N", where N is its
// place among those that the call names or implies. No section says where a file goes: whoever could write to a store
// would choose what is overwritten.
inline constexpr std::string_view k_streams = "streams";
std::vector<std::string> sections_of(const Call& call);

// An Error says why it cannot be kept.
Status add_files(const watch::TreeLog& log, const Plan& plan, Artifact& artifact);
// Whether the section of this name is the file of dependencies.
bool is_of_dependencies(std::string_view section, const Plan& plan);
// Whether the dependency file, if there is one, names only files that these conditions are about.
bool has_true_dependencies(const Artifact& artifact, const std::vector<watch::Condition>& conditions, const Plan& plan);
Status add_streams(const Plan& plan, Bytes streams, Artifact& artifact);

// The command has not run: its files and its output are given as they were. The result has the sections of the call.
// Code::corrupt: nothing was written.
Status replay(const Artifact& artifact, const Plan& plan);

}  // namespace hearth::command
