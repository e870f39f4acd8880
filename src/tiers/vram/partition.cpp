#include "tiers/vram/partition.hpp"

#include "base/error.hpp"
#include "tiers/vram/parked_leases.hpp"
#include "tiers/vram/room_in_arena.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <iterator>

namespace hearth::tiers {

namespace {

// Each section begins at a multiple of some bytes. What that may take beyond the tier's capacity.
constexpr std::uint64_t k_between_sections = 4_KiB;

}  // namespace

Partition::Partition(std::string tier, std::string name, int device, const Clock& clock, std::unique_ptr<Policy> policy,
                     const Limits& limits, std::shared_ptr<gpu::DeviceMemory> memory, TransferCounts& transfers,
                     KeptBelow kept_below)
    : m_tier(std::move(tier)), m_name(std::move(name)), m_device(device), m_transfers(transfers),
      m_kept_below(std::move(kept_below)), m_entries(m_tier, clock, std::move(policy), limits)
{
    m_memory = std::move(memory);
    m_arena = std::make_shared<Arena>(m_memory, limits.max_bytes);
}

std::shared_ptr<Arena> Partition::arena() const
{
    const std::lock_guard lock(m_mutex);
    return m_arena;
}

std::shared_ptr<gpu::DeviceMemory> Partition::memory() const
{
    const std::lock_guard lock(m_mutex);
    return m_memory;
}

// `place` makes the entry, with its bytes, in the part that was found for it.
template <class Place>
Result<StoreReport> Partition::store_placed(const Resident& wanted, std::uint64_t bytes_needed, const Place& place,
                                            const Outdated& outdated, Evicting evicting)
{
    ParkedLeases::of_process().end_passed();
    const std::shared_ptr<Arena> arena = this->arena();
    // Checked before anything is evicted: no eviction could make such a block possible.
    if (const std::uint64_t most = arena->memory().max_block_bytes(); bytes_needed > most)
        return error(Code::too_large,
                     "Entry of {} bytes is larger than {} gives at once ({}). Keep it in another tier.", bytes_needed,
                     arena->memory().device().name, most);
    const bool spread_out = bytes_needed > wanted.bytes && bytes_needed - wanted.bytes > k_between_sections;
    if (const std::uint64_t most = spread_out ? m_entries.limits().max_bytes : 0;
        most != 0 && wanted.bytes <= most && bytes_needed > most && bytes_needed - most > k_between_sections)
        return error(Code::too_large,
                     "Entry of {} bytes takes {} bytes of device memory, because each of its sections begins at a "
                     "multiple of 16, and tier \"{}\" holds {}. Give it fewer sections, or raise the tier's capacity.",
                     wanted.bytes, bytes_needed, m_tier, most);
    StoreReport report{.bytes = wanted.bytes};
    PlaceInArena room(*arena, m_tier, bytes_needed, Arena::Growth::yes);
    if (!room.enough())
        base::reclaim();  // what nobody holds any more
    Result<resident::Departed> departed = m_entries.reserve(wanted, room);
    HEARTH_TRY(departed);
    // Held until the entry is in its place, whatever happens on the way.
    struct Reservation {
        resident::ResidentStore& entries;
        const Resident& wanted;
        bool used = false;
        ~Reservation()
        {
            if (!used)
                entries.give_up(wanted);
        }
    } reservation{m_entries, wanted};
    settle(*std::move(departed), evicting);
    HEARTH_TRY_SET(const gpu::DevicePart part, make_place(*arena, wanted.key, bytes_needed, evicting));
    HEARTH_TRY_SET(std::unique_ptr<device::ResidentEntry> entry, place(PlacedPart(arena, part)));
    reservation.used = true;
    settle(m_entries.put(std::move(entry), report.replaced, outdated), evicting);
    return report;
}

Result<StoreReport> Partition::store(const Key& key, const Entry& entry, std::uint64_t order, device::Stream stream,
                                     Evicting evicting)
{
    const Artifact& artifact = *entry.artifact();
    const Resident wanted(key, artifact.size(), std::chrono::duration<double>(artifact.cost).count());
    const auto place = [&](PlacedPart part) -> Result<std::unique_ptr<device::ResidentEntry>> {
        auto copy = std::make_unique<device::ResidentEntry>(key, artifact, std::move(part), m_device, order);
        Status status = copy->write(artifact);
        if (status.ok() && stream != nullptr)
            status = copy->memory().order_after(copy->ticket(), stream);
        HEARTH_TRY(status);
        m_transfers.to_device.fetch_add(1, std::memory_order_relaxed);
        m_transfers.to_device_bytes.fetch_add(wanted.bytes, std::memory_order_relaxed);
        return copy;
    };
    // Another thread may have been faster with a newer value.
    const auto outdated = [&](const resident::Node* there) { return is_newer(there, order); };
    return store_placed(wanted, device::ResidentEntry::bytes_needed(artifact), place, outdated, evicting);
}

Result<StoreReport> Partition::store_copy(const device::ResidentEntry& other, Evicting evicting,
                                          const std::function<bool()>& outdated)
{
    const Resident wanted(other.resident.key, other.resident.bytes, other.resident.cost);
    const auto place = [&](PlacedPart part) -> Result<std::unique_ptr<device::ResidentEntry>> {
        auto entry = std::make_unique<device::ResidentEntry>(other, std::move(part), m_device);
        HEARTH_TRY(entry->copy_from(other));
        m_transfers.between_devices.fetch_add(1, std::memory_order_relaxed);
        return entry;
    };
    const auto newer = [&](const resident::Node* there) { return outdated() || is_newer(there, other.order()); };
    return store_placed(wanted, other.part().bytes, place, newer, evicting);
}

bool Partition::is_newer(const resident::Node* there, std::uint64_t order)
{
    return there && static_cast<const device::ResidentEntry*>(there)->order() > order;
}

// The limits may have room and the arena none, because another thread took what was freed, evicted entries are still
// under lease, or the device has less than was thought. Then more has to be evicted.
Result<gpu::DevicePart> Partition::make_place(Arena& arena, const Key& key, std::uint64_t bytes, Evicting evicting)
{
    for (;;) {
        Result<gpu::DevicePart> part = arena.allocate(bytes);
        if (part || part.error().code != Code::no_space)
            return part;
        if (arena.wait_for_readers())
            continue;
        ParkedLeases::of_process().end_passed();
        base::reclaim();  // what has gone already: now, not with the next that go
        PlaceInArena room(arena, m_tier, bytes, Arena::Growth::no);
        if (room.enough())
            continue;
        Result<resident::Departed> departed = m_entries.evict_for(key, room);
        HEARTH_TRY(departed);
        settle(*std::move(departed), evicting);
        base::reclaim();
    }
}

// Reads evicted entries that another tier wants, and has not, from the device, then frees them.
void Partition::settle(resident::Departed departed, Evicting evicting)
{
    if (departed.empty())
        return;
    std::vector<Victim> gone = departed.victims();
    for (std::size_t i = 0; i < gone.size(); ++i) {
        const auto& entry = static_cast<const device::ResidentEntry&>(*departed.nodes()[i].node);
        if (evicting.keep != Victims::keep || !departed.nodes()[i].worth_keeping ||
            (m_kept_below && m_kept_below(gone[i].key)))
            continue;
        if (Result<std::shared_ptr<const Artifact>> artifact = entry.fetch()) {
            m_transfers.to_host.fetch_add(1, std::memory_order_relaxed);
            m_transfers.to_host_bytes.fetch_add(gone[i].bytes, std::memory_order_relaxed);
            gone[i].entry.emplace(*std::move(artifact));
        }
    }
    std::ranges::move(gone, std::back_inserter(evicting.gone));
}

bool Partition::remove(const Key& key)
{
    return remove_older(key, UINT64_MAX);
}

bool Partition::remove_older(const Key& key, std::uint64_t order)
{
    return m_entries.remove_if(key, [&](const resident::Node& node) {
        return static_cast<const device::ResidentEntry&>(node).order() < order;
    });
}

bool Partition::has_newer(const Key& key, std::uint64_t order) const
{
    bool newer = false;
    m_entries.visit_one(key, [&](const resident::Node& node) { newer = is_newer(&node, order); });
    return newer;
}

bool Partition::shows_newer(const Key& key, std::uint64_t order, base::HazardSlot* slot) const
{
    return is_newer(m_entries.table().find_with(slot, key), order);
}

std::vector<Victim> Partition::set_limits(const Limits& limits, Victims victims)
{
    std::vector<Victim> gone;
    settle(m_entries.set_limits(limits), {victims, gone});
    arena()->set_max_bytes(limits.max_bytes);
    return gone;
}

std::vector<Victim> Partition::set_max_age(std::chrono::seconds max_age)
{
    Limits limits = m_entries.limits();
    limits.max_age = max_age;
    return set_limits(limits, Victims::discard);
}

std::vector<Victim> Partition::drop_expired(const std::stop_token& stop)
{
    std::vector<Victim> gone;
    settle(m_entries.depart_expired(stop), {Victims::discard, gone});
    trim();
    return gone;
}

std::uint64_t Partition::trim()
{
    ParkedLeases::of_process().end_passed();
    base::reclaim();
    return arena()->trim();
}

std::uint64_t Partition::give_back(std::uint64_t bytes, Victims keep, std::vector<Victim>& victims)
{
    const std::shared_ptr<Arena> arena = this->arena();
    std::uint64_t given = trim();
    while (given < bytes) {
        Result<resident::Departed> departed = evict_blocks(*arena, bytes - given);
        if (!departed)
            break;
        settle(*std::move(departed), {keep, victims});
        base::reclaim();
        arena->wait_for_readers();
        const std::uint64_t more = trim();
        if (more == 0)  // somebody leased or stored meanwhile, and goes first
            break;
        given += more;
    }
    return given;
}

// Evicts what lies in blocks of so many bytes, or of as many as leases leave.
Result<resident::Departed> Partition::evict_blocks(const Arena& arena, std::uint64_t bytes)
{
    const Key nobodys;
    EmptyBlocks wanted(arena, bytes);
    Result<resident::Departed> departed = m_entries.evict_for(nobodys, wanted);
    if (departed || wanted.possible() == 0)
        return departed;
    EmptyBlocks possible(arena, wanted.possible());
    return m_entries.evict_for(nobodys, possible);
}

void Partition::evict_to(const EvictTo& goal, std::vector<Victim>& gone)
{
    settle(m_entries.evict_to(goal), {Victims::discard, gone});
}

void Partition::clear()
{
    m_entries.clear();
    trim();
}

void Partition::renew(std::shared_ptr<gpu::DeviceMemory> memory, const Limits& limits)
{
    m_entries.clear();
    m_entries.set_limits(limits);
    auto arena = std::make_shared<Arena>(memory, limits.max_bytes);
    // Swapped, so that the old arena is destroyed after the lock is released.
    const std::lock_guard lock(m_mutex);
    m_memory.swap(memory);
    m_arena.swap(arena);
}

device::PartitionUsage Partition::usage()
{
    ParkedLeases::of_process().end_passed();
    const TierUsage entries = m_entries.usage();
    const std::shared_ptr<Arena> place = this->arena();
    const Arena::Usage arena = place->usage();
    const std::uint64_t alive = place->entry_bytes.load(std::memory_order_relaxed);
    return {.partition = m_name,
            .device = m_device,
            .entries = entries.entries,
            .bytes = entries.bytes,
            .capacity_bytes = m_entries.limits().max_bytes,
            .reserved_bytes = arena.reserved,
            .allocated_bytes = arena.allocated,
            .held_bytes = alive > entries.bytes ? alive - entries.bytes : 0};
}

}  // namespace hearth::tiers
