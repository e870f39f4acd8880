// Reads many entries to the host with one gather and one wait.

#include "base/error.hpp"
#include "gpu/plain_staging.hpp"
#include "tiers/vram/vram_tier.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <utility>
#include <vector>

namespace hearth::tiers {

namespace {

constexpr std::uint64_t k_alignment = 16;
// How many lookups ahead memory is prefetched. One lookup alone waits three times for memory; many need not.
constexpr std::size_t k_places_ahead = 16;
constexpr std::size_t k_nodes_ahead = 8;

// Stands for an entry without bytes, so that it differs from a missing one.
constexpr std::byte k_nothing{};

Error no_memory(std::uint64_t bytes)
{
    return error(Code::no_space, "The host has no {} bytes to read into.", bytes);
}

// The device copies so many while the next are looked up. Of the first there are few, so that it begins early.
constexpr std::size_t k_keys_at_once = 512;
constexpr std::size_t k_first_keys = 128;

// Where the piece ends that begins there. The last one takes a few more along: a launch has its price.
std::size_t end_of_piece(std::size_t begin, std::size_t keys)
{
    const std::size_t end = begin == 0 ? k_first_keys : (begin / k_keys_at_once + 1) * k_keys_at_once;
    return end + k_first_keys >= keys ? keys : end;
}

// Everything that is read from one partition: in pieces, each with its own host memory, and one wait for all.
class Batch {
public:
    Batch(Partition& partition, std::size_t keys)
        : m_entries(partition.entries()), m_arena(partition.arena()), m_guard(*m_arena)
    {
        m_next.reads.reserve(std::min(keys, k_keys_at_once + k_first_keys));
        m_entries.look_at_clock();
    }

    // Whether the entry is there; if so, the next start() reads it.
    bool take(std::size_t number, const Key& key, base::HazardSlot* slot)
    {
        if (const resident::Node* node = m_entries.find_with(slot, key)) {
            add(number, static_cast<const device::ResidentEntry&>(*node));
            return true;
        }
        const resident::ResidentStore::Hit hit = m_entries.find(key);
        if (!hit.node)
            return false;
        add(number, static_cast<const device::ResidentEntry&>(*hit.node));
        base::release_slot(hit.slot);
        return true;
    }

    Status start(bool last)
    {
        gpu::DeviceMemory& memory = m_arena->memory();
        // Pieces help only if the device copies one while the next is looked up.
        if (m_next.reads.empty() || (!last && !memory.gathers_in_background()))
            return {};
        m_next.staging = memory.staging(std::max<std::uint64_t>(m_next.bytes, 1));
        if (!m_next.staging)
            m_next.staging = gpu::PlainStaging::take(m_next.bytes);
        if (!m_next.staging)
            return no_memory(m_next.bytes);
        // Stored in m_pieces before the device writes to it, so that its memory lasts until the copy is done, even
        // after a failure.
        const Piece& piece = m_pieces.emplace_back(std::exchange(m_next, {}));
        if (!last)
            m_next.reads.reserve(k_keys_at_once + k_first_keys);
        return m_gathering->start(piece.reads, *piece.staging);
    }

    // Fills in where each entry's bytes will be, then waits for them. Hands over the buffers that hold them.
    Status finish(std::vector<ByteView>& found, TransferCounts& counts,
                  std::vector<std::unique_ptr<gpu::StagingBuffer>>& owner)
    {
        for (const Piece& piece : m_pieces)
            tell(piece, found, counts);
        Status status = m_gathering->finish();
        for (Piece& piece : m_pieces)
            owner.push_back(std::move(piece.staging));
        return status;
    }

private:
    struct Piece {
        std::vector<gpu::RegionRead> reads;  // numbered as the keys they are for
        std::uint64_t bytes = 0;
        std::unique_ptr<gpu::StagingBuffer> staging;
    };

    void add(std::size_t key, const device::ResidentEntry& entry)
    {
        if (&entry.memory() != m_memory)
            return;  // its device was lost meanwhile
        const device::Region region = entry.region();
        m_next.reads.push_back({region, m_next.bytes, key});
        m_next.bytes += (region.bytes + k_alignment - 1) / k_alignment * k_alignment;
    }

    static void tell(const Piece& piece, std::vector<ByteView>& found, TransferCounts& counts)
    {
        const ByteView target = piece.staging->bytes();
        std::uint64_t bytes = 0;
        for (const auto& [from, place, key] : piece.reads) {
            found[key] = from.bytes == 0 ? ByteView(&k_nothing, std::size_t{0}) : target.subspan(place, from.bytes);
            bytes += from.bytes;
        }
        counts.to_host.fetch_add(piece.reads.size(), std::memory_order_relaxed);
        counts.to_host_bytes.fetch_add(bytes, std::memory_order_relaxed);
    }

    resident::ResidentStore& m_entries;
    const std::shared_ptr<Arena> m_arena;
    const gpu::DeviceMemory* const m_memory = &m_arena->memory();
    // Memory that is found from here on is not reused while the guard exists, so no entry has to be held by itself.
    const Arena::ReadGuard m_guard;
    Piece m_next;
    std::vector<Piece> m_pieces;  // under way
    // Destroyed first: it waits for copies that write to the pieces.
    const std::unique_ptr<gpu::Gathering> m_gathering = m_arena->memory().begin_gathering();
};

}  // namespace

// A single entry is held by itself, which is the fastest way.
Result<device::HostCopy> VramTier::read_one(const Key& key)
{
    const Held held = hold(key, -1, true);
    if (!held.entry)
        return device::HostCopy(nullptr, std::vector<ByteView>(1));
    gpu::DeviceMemory& memory = held.entry->memory();
    const gpu::DevicePart part{held.entry->part().block, held.entry->part().offset, held.entry->region().bytes};
    std::shared_ptr<gpu::StagingBuffer> staging = memory.staging(std::max<std::uint64_t>(part.bytes, 1));
    if (!staging)
        staging = gpu::PlainStaging::take(part.bytes);
    const Status status =
        staging ? memory.read(part, staging->bytes().first(part.bytes)) : Status{no_memory(part.bytes)};
    HEARTH_TRY(status);
    m_transfers.to_host.fetch_add(1, std::memory_order_relaxed);
    m_transfers.to_host_bytes.fetch_add(part.bytes, std::memory_order_relaxed);
    const ByteView bytes = staging->bytes().first(part.bytes);
    return device::HostCopy(std::move(staging), {bytes});
}

Result<device::HostCopy> VramTier::read_many(std::span<const Key> keys)
{
    if (keys.size() == 1)
        return read_one(keys.front());
    const Partitions& all = partitions();
    // One slot serves all lookups, since each entry is used at once.
    const std::unique_ptr<base::HazardSlot, ReleaseSlot> slot(base::acquire_slot());
    std::vector<std::unique_ptr<Batch>> batches;
    batches.reserve(all.size());
    for (const std::unique_ptr<Partition>& partition : all)
        if (partition->memory()->lost())
            recover(partition->device());
    for (const std::unique_ptr<Partition>& partition : all)
        batches.push_back(std::make_unique<Batch>(*partition, keys.size()));
    for (std::size_t begin = 0, end = 0; begin < keys.size() && !all.empty(); begin = end) {
        end = end_of_piece(begin, keys.size());
        const resident::ResidentTable::LookAhead ahead(all.front()->entries().table());
        for (std::size_t i = begin; i < end; ++i) {
            if (i + k_places_ahead < keys.size())
                ahead.place(keys[i + k_places_ahead]);
            if (i + k_nodes_ahead < keys.size())
                ahead.node(keys[i + k_nodes_ahead]);
            for (const std::unique_ptr<Batch>& batch : batches)
                if (batch->take(i, keys[i], slot.get()))
                    break;
        }
        for (const std::unique_ptr<Batch>& batch : batches)
            HEARTH_TRY(batch->start(end == keys.size()));
    }
    std::vector<ByteView> found(keys.size());
    const auto owner = std::make_shared<std::vector<std::unique_ptr<gpu::StagingBuffer>>>();
    for (const std::unique_ptr<Batch>& batch : batches)
        HEARTH_TRY(batch->finish(found, m_transfers, *owner));
    return device::HostCopy(owner, std::move(found));
}

}  // namespace hearth::tiers
