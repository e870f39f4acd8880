#include "tiers/vram/resident_entry.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::device {

namespace {

constexpr std::uint64_t k_section_alignment = 16;

std::uint64_t aligned(std::uint64_t offset)
{
    return (offset + k_section_alignment - 1) / k_section_alignment * k_section_alignment;
}

Artifact head_of(const Artifact& artifact)
{
    Artifact head;
    head.metadata = artifact.metadata;
    head.request = artifact.request;
    head.status = artifact.status;
    head.cost = artifact.cost;
    head.created = artifact.created;
    head.expires = artifact.expires;
    head.origin = artifact.origin;
    for (const Section& section : artifact.sections)
        head.sections.push_back({section.name, {}});
    return head;
}

}  // namespace

ResidentEntry::ResidentEntry(const Key& key, const Artifact& artifact, tiers::PlacedPart place, int device,
                             std::uint64_t order)
    : Node(key, artifact.size(), artifact), m_memory(&place.arena().memory()), m_bytes(0),
      m_device(static_cast<std::uint16_t>(device)), m_order(order), m_place(std::move(place)), m_head(head_of(artifact))
{
    std::uint64_t offset = 0;
    for (const Section& section : artifact.sections) {
        m_stretches.push_back({offset, section.data.size(), {}});
        offset = aligned(offset + section.data.size());
    }
    set_region();
    m_place.arena().entry_bytes.fetch_add(resident.bytes, std::memory_order_relaxed);
}

ResidentEntry::ResidentEntry(const ResidentEntry& other, tiers::PlacedPart place, int device)
    : Node(other.resident.key, other.resident.bytes, other.m_head), m_memory(&place.arena().memory()), m_bytes(0),
      m_device(static_cast<std::uint16_t>(device)), m_order(other.m_order), m_place(std::move(place)),
      m_head(other.m_head), m_stretches(other.m_stretches)
{
    set_region();
    m_place.arena().entry_bytes.fetch_add(resident.bytes, std::memory_order_relaxed);
}

ResidentEntry::~ResidentEntry()
{
    m_place.arena().entry_bytes.fetch_sub(resident.bytes, std::memory_order_relaxed);
}

std::uint64_t ResidentEntry::bytes_needed(const Artifact& artifact)
{
    std::uint64_t offset = 0;
    std::uint64_t end = 0;
    for (const Section& section : artifact.sections) {
        end = offset + section.data.size();
        offset = aligned(end);
    }
    return end;
}

void ResidentEntry::set_region()
{
    const Region first = region_of(m_stretches.empty() ? Stretch{} : m_stretches.front());
    m_address = first.address;
    m_bytes = first.bytes & ((std::uint64_t{1} << 48U) - 1);
}

Region ResidentEntry::region_of(const Stretch& stretch) const
{
    const std::uint64_t offset = part().offset + stretch.offset;
    if (part().block.buffer != nullptr)
        return {0, part().block.buffer, offset, stretch.bytes};
    return {part().block.address + offset, nullptr, 0, stretch.bytes};
}

Region ResidentEntry::section(std::string_view name) const
{
    for (std::size_t i = 0; i < m_stretches.size(); ++i)
        if (m_head.sections[i].name == name)
            return region_of(m_stretches[i]);
    return {};
}

Status ResidentEntry::write(const Artifact& artifact)
{
    for (std::size_t i = 0; i < m_stretches.size(); ++i) {
        Stretch& stretch = m_stretches[i];
        const ByteView bytes = artifact.sections[i].data;
        const Result<gpu::WriteTicket> ticket =
            memory().write_summed({part().block, part().offset + stretch.offset, stretch.bytes}, bytes, stretch.sum);
        HEARTH_TRY(ticket);
        m_ticket = std::max(m_ticket, *ticket);
    }
    return {};
}

Status ResidentEntry::copy_from(const ResidentEntry& other)
{
    return other.memory().copy(other.part(), memory(), part());
}

Result<std::shared_ptr<const Artifact>> ResidentEntry::fetch() const
{
    // Section by section: the gaps between them were never written.
    std::vector<gpu::GatherPart> parts;
    parts.reserve(m_stretches.size());
    for (const Stretch& stretch : m_stretches)
        parts.push_back({{part().block, part().offset + stretch.offset, stretch.bytes}, stretch.offset});
    Status status;
    const Bytes all =
        Bytes::make(part().bytes, [&](std::span<std::byte> out) { status = memory().gather(parts, out); });
    HEARTH_TRY(status);
    auto artifact = std::make_shared<Artifact>(m_head);
    for (std::size_t i = 0; i < m_stretches.size(); ++i) {
        const Stretch& stretch = m_stretches[i];
        artifact->sections[i].data = all.slice(stretch.offset, stretch.bytes);
        if (base::sum_of(artifact->sections[i].data) != stretch.sum)
            return error(Code::corrupt, "What {} holds of entry {} is not what was written there.",
                         memory().device().name, resident.key.hex());
    }
    return {std::shared_ptr<const Artifact>(std::move(artifact))};
}

}  // namespace hearth::device
