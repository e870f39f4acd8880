#pragma once

#include "hearth/artifact.hpp"
#include "hearth/key.hpp"

#include <cstdint>

namespace hearth::bench {

Key numbered_key(std::uint64_t number);

// Text that looks and compresses like the assembly a GPU compiler writes, different for each seed.
Artifact assembly_artifact(std::size_t bytes, std::uint64_t seed);

}  // namespace hearth::bench
