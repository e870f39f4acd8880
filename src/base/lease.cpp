// The code of leases and host copies. Anybody may hold one, so it is here, where every layer reaches it.

#include "hearth/lease.hpp"

#include "base/hazard.hpp"
#include "hearth/device_tier.hpp"

#include <algorithm>

namespace hearth {

void ArtifactLease::release(base::HazardSlot* slot) noexcept
{
    base::release_slot(slot);
}

namespace device {

void Lease::release(base::HazardSlot* slot) noexcept
{
    base::release_slot(slot);
}

std::size_t HostCopy::found() const noexcept
{
    return static_cast<std::size_t>(
        std::count_if(m_parts.begin(), m_parts.end(), [](ByteView part) { return part.data() != nullptr; }));
}

}  // namespace device

}  // namespace hearth
