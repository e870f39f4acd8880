#include "base/hazard.hpp"
#include "hearth/device_tier.hpp"
#include "tiers/vram/resident_entry.hpp"

#include <algorithm>

namespace hearth::device {

void Lease::release(base::HazardSlot* slot) noexcept
{
    base::release_slot(slot);
}

Region Lease::section(std::string_view name) const
{
    return m_entry ? m_entry->section(name) : Region{};
}

bool Lease::lost() const noexcept
{
    return m_entry && m_entry->memory().lost();
}

std::size_t HostCopy::found() const noexcept
{
    return static_cast<std::size_t>(
        std::count_if(m_parts.begin(), m_parts.end(), [](ByteView part) { return part.data() != nullptr; }));
}

}  // namespace hearth::device
