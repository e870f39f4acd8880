#pragma once

#include "compilers/command/plan.hpp"
#include "hearth/artifact.hpp"
#include "watch/tree_log.hpp"

#include <string_view>

namespace hearth::command {

// What a command wrote, as sections of an entry, and back to where another call wants it.

// The section of what it said, as run_watched() keeps it.
inline constexpr std::string_view k_streams = "streams";

// An Error says why it cannot be kept.
Status add_files(const watch::TreeLog& log, const Plan& plan, Artifact& artifact);
// Whether the section of this name is the file of dependencies.
bool is_of_dependencies(std::string_view section, const Plan& plan);
Status add_streams(const Plan& plan, Bytes streams, Artifact& artifact);

// The command has not run: its files and its output are given as they were.
Status replay(const Artifact& artifact, const Plan& plan);

}  // namespace hearth::command
