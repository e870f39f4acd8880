#pragma once

#include "hearth/artifact.hpp"

#include <cstdint>
#include <memory>

namespace hearth::tiers {

// What an artifact in the memory tier takes of memory beside the bytes of its sections: the request, names, what their
// buffers hold beyond the sections, and the bookkeeping of the tier, its policy and the allocator.
std::uint64_t memory_beside(const Artifact& artifact);

// The artifact itself, or a copy if its sections are small parts of larger buffers, which they would keep in memory.
std::shared_ptr<const Artifact> without_slack(std::shared_ptr<const Artifact> artifact);

}  // namespace hearth::tiers
