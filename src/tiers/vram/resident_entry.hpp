#pragma once

#include "base/digest.hpp"
#include "resident/resident_table.hpp"
#include "tiers/vram/arena.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::vram {

// An artifact whose bytes lie on a device: its sections one behind the other, each at a multiple of sixteen bytes.
// What is known of it besides stands here, on the host.
// Ownership: its part of the arena, given back at the end.
class ResidentEntry final : public resident::Node {
public:
    // A part of the arena that is large enough for bytes_needed().
    ResidentEntry(const Key& key, const Artifact& artifact, std::shared_ptr<tiers::Arena> arena,
                  const gpu::DevicePart& part, int device);
    // For a copy of that one, on another device.
    ResidentEntry(const ResidentEntry& other, std::shared_ptr<tiers::Arena> arena, const gpu::DevicePart& part,
                  int device);
    ~ResidentEntry() override;

    static std::uint64_t bytes_needed(const Artifact& artifact);

    // Copies the artifact's bytes to the device; returns when they may be reused.
    Status write(const Artifact& artifact);
    // The same from an entry on another device.
    Status copy_from(const ResidentEntry& other);
    // A copy on the host, with its bytes checked: Code::corrupt when they are not what was written.
    Result<std::shared_ptr<const Artifact>> fetch() const;

    gpu::DeviceMemory& memory() const noexcept { return *m_memory; }
    const gpu::DevicePart& part() const noexcept { return m_part; }
    gpu::WriteTicket ticket() const noexcept { return m_ticket; }
    int device() const noexcept { return m_device; }
    const Artifact& head() const noexcept { return m_head; }
    const Region& region() const noexcept { return m_first; }
    Region section(std::string_view name) const;

private:
    struct Stretch {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
        std::optional<base::Checksum> sum{};
    };
    Region region_of(const Stretch& stretch) const;

    // What a lease needs comes first, next to what a lookup has just read.
    gpu::DeviceMemory* const m_memory;
    gpu::WriteTicket m_ticket = 0;
    Region m_first;
    const int m_device;
    const gpu::DevicePart m_part;
    const std::shared_ptr<tiers::Arena> m_arena;
    Artifact m_head;  // with the names of its sections, without their bytes
    std::vector<Stretch> m_stretches;
};

}  // namespace hearth::vram
