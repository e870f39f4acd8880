#include "hearth/device_tier.hpp"
#include "tiers/vram/resident_entry.hpp"

namespace hearth::device {

Region Lease::section(std::string_view name) const
{
    return m_entry ? m_entry->section(name) : Region{};
}

bool Lease::lost() const noexcept
{
    return m_entry && m_entry->memory().lost();
}

}  // namespace hearth::device
