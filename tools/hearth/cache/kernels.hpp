#pragma once

#include "hearth/artifact.hpp"

#include <string>
#include <vector>

namespace hearth::cli {

// The kernels in the code of an entry, by the names that a driver finds them by: from its PTX, or else its CUBIN. None
// for code of another kind.
std::vector<std::string> kernels_of(const Artifact& artifact);

}  // namespace hearth::cli
