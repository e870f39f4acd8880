#pragma once

#include "compilers/command/plan.hpp"
#include "hearth/artifact.hpp"
#include "watch/tree_log.hpp"

namespace hearth::command {

// What a command wrote, as sections of an entry, and back to where another call wants it.

// An Error says why it cannot be kept.
Status add_files(const watch::TreeLog& log, const Plan& plan, Artifact& artifact);
Status add_streams(const Plan& plan, Bytes streams, Artifact& artifact);

// The command has not run: its files and its output are given as they were.
Status replay(const Artifact& artifact, const Plan& plan);

}  // namespace hearth::command
