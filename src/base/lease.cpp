#include "hearth/lease.hpp"

#include "base/hazard.hpp"

namespace hearth {

void ArtifactLease::release(base::HazardSlot* slot) noexcept
{
    base::release_slot(slot);
}

}  // namespace hearth
