// Many entries to the host with one gather and one wait.

#include "gpu/plain_staging.hpp"
#include "tiers/vram/vram_tier.hpp"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <iterator>

namespace hearth::tiers {

namespace {

constexpr std::uint64_t k_alignment = 16;
// How far the lookups' memory is fetched ahead: a lookup alone waits three times for memory, many need not.
constexpr std::size_t k_places_ahead = 16;
constexpr std::size_t k_nodes_ahead = 8;

// What has no bytes is there all the same, and must be told from what is not.
constexpr std::byte k_nothing{};

Error no_memory(std::uint64_t bytes)
{
    return {Code::no_space, fmt::format("The host has no {} bytes to read into.", bytes), {}};
}

// While the device copies what was found, the next are looked for.
constexpr std::size_t k_keys_at_once = 512;

// What is read from one partition: in pieces that each have their own memory to go to, with one wait for all.
class Batch {
public:
    explicit Batch(Partition& partition) : m_arena(partition.arena()), m_guard(*m_arena)
    {
        m_parts.reserve(k_keys_at_once);
        m_wanted_by.reserve(k_keys_at_once);
    }

    // Whether the entry is there; then it is read with the next start().
    bool take(std::size_t number, const Key& key, resident::ResidentStore& entries, base::HazardSlot* slot)
    {
        if (const resident::Node* node = entries.find_with(slot, key)) {
            add(number, static_cast<const vram::ResidentEntry&>(*node));
            return true;
        }
        const resident::ResidentStore::Hit hit = entries.find(key);
        if (!hit.node)
            return false;
        add(number, static_cast<const vram::ResidentEntry&>(*hit.node));
        base::release_slot(hit.slot);
        return true;
    }

    Status start(std::vector<ByteView>& found, bool last)
    {
        gpu::DeviceMemory& memory = m_arena->memory();
        // Pieces are of use where the device copies one while the next is looked for.
        if (m_parts.empty() || (!last && !memory.gathers_in_background()))
            return {};
        if (!m_gathering)
            m_gathering = memory.begin_gathering();
        std::unique_ptr<gpu::StagingBuffer> staging = memory.staging(std::max<std::uint64_t>(m_bytes, 1));
        if (!staging)
            staging = gpu::PlainStaging::take(m_bytes);
        if (!staging)
            return no_memory(m_bytes);
        // Kept before it is written to: what is under way is waited for, also after a failure, while it is still ours.
        const std::span<std::byte> target = m_staging.emplace_back(std::move(staging))->bytes();
        if (Status status = m_gathering->start(m_parts, target); !status.ok())
            return status;
        for (std::size_t i = 0; i < m_parts.size(); ++i) {
            const gpu::GatherPart& part = m_parts[i];
            found[m_wanted_by[i]] = part.from.bytes == 0 ? ByteView(&k_nothing, std::size_t{0})
                                                         : target.subspan(part.target, part.from.bytes);
        }
        m_parts.clear();
        m_wanted_by.clear();
        m_bytes = 0;
        return {};
    }
    // What was read stays in the buffers that are handed over.
    Status finish(std::vector<std::unique_ptr<gpu::StagingBuffer>>& owner)
    {
        Status status = m_gathering ? m_gathering->finish() : Status{};
        std::move(m_staging.begin(), m_staging.end(), std::back_inserter(owner));
        return status;
    }

private:
    void add(std::size_t key, const vram::ResidentEntry& entry)
    {
        if (&entry.memory() != m_memory)
            return;  // of a device that was lost meanwhile
        const vram::Region& region = entry.region();
        const std::uint64_t size = region.bytes;
        // Where there is an address it says all, and the rest of the entry need not be fetched from memory.
        if (region.buffer == nullptr)
            m_parts.push_back({{{region.address, nullptr, size}, 0, size}, m_bytes});
        else
            m_parts.push_back({{entry.part().block, entry.part().offset, size}, m_bytes});
        m_wanted_by.push_back(key);
        m_bytes += (size + k_alignment - 1) / k_alignment * k_alignment;
    }

    const std::shared_ptr<Arena> m_arena;
    const gpu::DeviceMemory* const m_memory = &m_arena->memory();
    // Nothing that is found from here on is reused before the guard goes, so no entry need be held for itself.
    const Arena::ReadGuard m_guard;
    std::vector<gpu::GatherPart> m_parts;
    std::vector<std::size_t> m_wanted_by;  // the key each part is for
    std::uint64_t m_bytes = 0;
    std::vector<std::unique_ptr<gpu::StagingBuffer>> m_staging;
    std::unique_ptr<gpu::Gathering> m_gathering;  // goes first: it waits for what still writes to the others
};

}  // namespace

// Alone it is held for itself, and goes the shortest way.
Result<vram::HostCopy> VramTier::read_one(const Key& key)
{
    const Held held = hold(key, -1, true);
    if (!held.entry)
        return vram::HostCopy(nullptr, std::vector<ByteView>(1));
    gpu::DeviceMemory& memory = held.entry->memory();
    const gpu::DevicePart part{held.entry->part().block, held.entry->part().offset, held.entry->region().bytes};
    std::shared_ptr<gpu::StagingBuffer> staging = memory.staging(std::max<std::uint64_t>(part.bytes, 1));
    if (!staging)
        staging = gpu::PlainStaging::take(part.bytes);
    const Status status =
        staging ? memory.read(part, staging->bytes().first(part.bytes)) : Status{no_memory(part.bytes)};
    if (!status.ok())
        return status.error();
    m_transfers.to_host.fetch_add(1, std::memory_order_relaxed);
    m_transfers.to_host_bytes.fetch_add(part.bytes, std::memory_order_relaxed);
    const ByteView bytes = staging->bytes().first(part.bytes);
    return vram::HostCopy(std::move(staging), {bytes});
}

Result<vram::HostCopy> VramTier::read_many(std::span<const Key> keys)
{
    if (keys.size() == 1)
        return read_one(keys.front());
    std::vector<ByteView> found(keys.size());
    const Partitions& all = partitions();
    // One slot for all lookups: what is found is used at once.
    const std::unique_ptr<base::HazardSlot, void (*)(base::HazardSlot*)> slot(
        base::acquire_slot(), [](base::HazardSlot* used) { base::release_slot(used); });
    std::deque<Batch> batches;
    for (const std::unique_ptr<Partition>& partition : all)
        if (partition->memory()->lost())
            recover(partition->device());
    for (const std::unique_ptr<Partition>& partition : all)
        batches.emplace_back(*partition);
    for (std::size_t i = 0; i < keys.size() && !all.empty(); ++i) {
        const resident::ResidentTable& table = all.front()->entries().table();
        if (i + k_places_ahead < keys.size())
            table.prefetch_place(keys[i + k_places_ahead]);
        if (i + k_nodes_ahead < keys.size())
            table.prefetch_node(keys[i + k_nodes_ahead]);
        for (std::size_t p = 0; p < all.size(); ++p)
            if (batches[p].take(i, keys[i], all[p]->entries(), slot.get()))
                break;
        const bool last = i + 1 == keys.size();
        if (last || (i + 1) % k_keys_at_once == 0)
            for (Batch& batch : batches)
                if (Status status = batch.start(found, last); !status.ok())
                    return status.error();
    }
    const auto owner = std::make_shared<std::vector<std::unique_ptr<gpu::StagingBuffer>>>();
    for (Batch& batch : batches)
        if (Status status = batch.finish(*owner); !status.ok())
            return status.error();
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
    for (const ByteView part : found) {
        bytes += part.size();
        count += part.data() != nullptr ? 1 : 0;
    }
    m_transfers.to_host.fetch_add(count, std::memory_order_relaxed);
    m_transfers.to_host_bytes.fetch_add(bytes, std::memory_order_relaxed);
    return vram::HostCopy(owner, std::move(found));
}

}  // namespace hearth::tiers
