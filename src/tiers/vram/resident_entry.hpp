#pragma once

#include "base/memory_sum.hpp"
#include "resident/resident_table.hpp"
#include "tiers/vram/arena.hpp"

#include <memory>
#include <string>
#include <vector>

namespace hearth::device {

// An artifact whose bytes are on a device: its sections one after the other, each at a multiple of sixteen bytes.
// The rest of the artifact is here, on the host.
// Ownership: its part of the arena, given back at the end.
class ResidentEntry final : public resident::Node {
public:
    // A part of the arena that is large enough for bytes_needed(). `order`: see below.
    ResidentEntry(const Key& key, const Artifact& artifact, tiers::PlacedPart place, int device, std::uint64_t order);
    // A copy of that entry on another device.
    ResidentEntry(const ResidentEntry& other, tiers::PlacedPart place, int device);
    ~ResidentEntry() override;

    static std::uint64_t bytes_needed(const Artifact& artifact);

    // Copies the artifact's bytes to the device; returns when they may be reused.
    Status write(const Artifact& artifact);
    // The same from an entry on another device.
    Status copy_from(const ResidentEntry& other);
    // A copy on the host, with its bytes checked: Code::corrupt if they are not what was written.
    Result<std::shared_ptr<const Artifact>> fetch() const;

    gpu::DeviceMemory& memory() const noexcept { return *m_memory; }
    const gpu::DevicePart& part() const noexcept { return m_place.part(); }
    gpu::WriteTicket ticket() const noexcept { return m_ticket; }
    int device() const noexcept { return static_cast<int>(m_device); }
    // Of two values of a key the one with the higher number is the newer; a copy has its original's.
    std::uint64_t order() const noexcept { return m_order; }
    const Artifact& about() const noexcept override { return m_head; }
    // Of the first section.
    Region region() const noexcept
    {
        // An address is enough, and then the next cache line is not read.
        if (m_address != 0)
            return {m_address, nullptr, 0, m_bytes};
        return {0, m_place.part().block.buffer, m_place.part().offset, m_bytes};
    }
    Region section(std::string_view name) const;

private:
    struct Stretch {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        base::MemorySum sum{};
    };
    Region region_of(const Stretch& stretch) const;
    void set_region();

    // What a lease needs comes first: it fills the cache line that a lookup has just read.
    gpu::DeviceMemory* const m_memory;
    gpu::WriteTicket m_ticket = 0;
    std::uint64_t m_address = 0;
    std::uint64_t m_bytes : 48;
    const std::uint64_t m_device : 16;
    const std::uint64_t m_order;
    const tiers::PlacedPart m_place;
    Artifact m_head;  // with the names of its sections, without their bytes
    std::vector<Stretch> m_stretches;
};

}  // namespace hearth::device
