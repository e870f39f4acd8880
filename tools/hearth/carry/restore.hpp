#pragma once

#include "carry/captures.hpp"
#include "carry/write_tree.hpp"

namespace hearth::cli::carry {

// Writes a capture that was located into a directory. Before anything is written, all of it must be there.
Result<Written> restore(Cache& cache, const Located& located, const std::string& directory, Existing existing,
                        const Progress& progress);

}  // namespace hearth::cli::carry
