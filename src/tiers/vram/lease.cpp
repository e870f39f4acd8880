#include "base/error.hpp"
#include "hearth/device_tier.hpp"
#include "tiers/vram/parked_leases.hpp"
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

Status Lease::release_after(Stream stream)
{
    if (!m_slot)
        return {};
    HEARTH_TRY_SET(std::unique_ptr<gpu::StreamPoint> point, m_entry->memory().mark(stream));
    Lease ending(std::move(*this));  // without a point it ends here
    if (point)
        tiers::ParkedLeases::of_process().park(std::move(point), std::exchange(ending.m_slot, nullptr));
    return {};
}

}  // namespace hearth::device
