#include "tiers/vram/vram_tier.hpp"

#include "base/error.hpp"
#include "base/thread_index.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth {

TierSpec vram(VramOptions options)
{
    return {options.name, [options](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                if (options.devices.empty())
                    return error(Code::invalid_argument,
                                 "Tier \"{}\" has an empty list of devices. Name one at least: .devices = {{0}}.",
                                 options.name);
                auto tier = std::make_unique<tiers::VramTier>(options, context, gpu::open_device_memory);
                // Without a fallback, opening the cache must report that there is no device.
                if (options.fallback == device::Fallback::none)
                    HEARTH_TRY(tier->open());
                return {std::move(tier)};
            }};
}

TierSpec vram(std::uint64_t max_bytes)
{
    return vram(VramOptions{.max_bytes = max_bytes});
}

namespace tiers {

VramTier::VramTier(VramOptions options, const TierContext& context, OpenMemory open_memory)
    : m_options(std::move(options)), m_clock(*context.clock), m_log(context.log), m_open_memory(std::move(open_memory)),
      m_kept_below(context.kept_below), m_policy(context.policy), m_limits{.max_bytes = m_options.max_bytes,
                                                                           .max_entries = m_options.max_entries,
                                                                           .max_age = {}}
{
}

Result<Partition*> VramTier::placed(const device::Placement& placement)
{
    const Result<const Partitions*> all = opened();
    HEARTH_TRY(all);
    for (const std::unique_ptr<Partition>& partition : **all)
        if (partition->device() == placement.device && partition->name() == placement.partition)
            return partition.get();
    return error(Code::not_found,
                 "Tier \"{}\" has no partition \"{}\" on device {}: it has {} device(s), counted from 0, and "
                 "{} named partition(s). Name it in VramOptions.",
                 m_options.name, placement.partition, placement.device, m_options.devices.size(),
                 m_options.partitions.size());
}

VramTier::Held VramTier::hold(const Key& key, int device, bool counts)
{
    Held held;
    for (const std::unique_ptr<Partition>& partition : partitions()) {
        if (device >= 0 && partition->device() != device)
            continue;
        const resident::ResidentStore::Hit hit =
            counts ? partition->entries().find(key) : partition->entries().peek(key);
        if (!hit.node) {
            held.why = hit.why == Miss::absent ? held.why : hit.why;
            continue;
        }
        const auto* entry = static_cast<const device::ResidentEntry*>(hit.node);
        std::unique_ptr<base::HazardSlot, ReleaseSlot> slot(hit.slot);
        if (!entry->memory().lost())
            return {entry, std::move(slot), partition.get(), Miss::absent};
        const std::uint64_t order = entry->order();
        slot.reset();
        recover(partition->device());
        // An entry that was stored while its device was replaced is in the new table but on the old device.
        partition->remove_older(key, order + 1);
        held.why = Miss::outage;
    }
    return held;
}

device::Lease VramTier::lease(const Key& key, const device::LeaseOptions& options)
{
    Held held = hold(key, options.device, true);
    if (!held.entry)
        return {};
    const device::ResidentEntry& entry = *held.entry;
    device::Lease lease(held.slot.release(), held.entry, entry.region(), entry.device());
    if (gpu::DeviceMemory& memory = entry.memory(); !memory.settled(entry.ticket())) {
        const Status ordered = options.stream != nullptr ? memory.order_after(entry.ticket(), options.stream)
                                                         : memory.wait(entry.ticket());
        if (!ordered.ok()) {
            recover(entry.device());
            return {};
        }
    }
    count_lease();
    return lease;
}

void VramTier::count_lease() noexcept
{
    // The first of these counters belong to one living thread each, and need no atomic addition; the last is shared.
    const std::size_t thread = std::min(base::thread_index(), m_counters.size() - 1);
    std::atomic<std::uint64_t>& count = m_counters[thread].leases;
    if (thread + 1 < m_counters.size())
        count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    else
        count.fetch_add(1, std::memory_order_relaxed);
}

Found VramTier::fetch(const Held& held)
{
    if (!held.entry)
        return Found::miss(held.why);
    const device::ResidentEntry& entry = *held.entry;
    Result<std::shared_ptr<const Artifact>> artifact = entry.fetch();
    Found found;
    found.uses = entry.resident.uses();
    found.bytes = entry.resident.bytes;
    found.cost = entry.about().cost;
    found.compiler = compiler_kind_of(entry.about().metadata.compiler);
    if (artifact) {
        m_transfers.to_host.fetch_add(1, std::memory_order_relaxed);
        m_transfers.to_host_bytes.fetch_add(found.bytes, std::memory_order_relaxed);
        found.artifact = ArtifactLease(*std::move(artifact));
        return found;
    }
    say(artifact.error().message);
    if (artifact.error().code == Code::corrupt)
        return Found::miss(Miss::corrupt);
    recover(held.partition->device());
    return Found::miss(Miss::outage);
}

Found VramTier::find(const Key& key)
{
    const Held held = hold(key, -1, true);
    Found found = fetch(held);
    if (!found && found.why == Miss::corrupt)
        held.partition->remove_older(key, held.entry->order() + 1);
    return found;
}

Found VramTier::peek(const Key& key)
{
    return fetch(hold(key, -1, false));
}

Result<StoreReport> VramTier::store(const Key& key, const Entry& entry, Victims victims, std::vector<Victim>& gone)
{
    return store_at(key, entry, {}, victims, gone);
}

Result<StoreReport> VramTier::store_at(const Key& key, const Entry& entry, const device::Placement& placement,
                                       Victims victims, std::vector<Victim>& gone)
{
    const Result<Partition*> partition = placed(placement);
    HEARTH_TRY(partition);
    resident::ResidentTable::LookAhead((*partition)->entries().table()).place(key);  // needed soon
    if ((*partition)->memory()->lost())
        recover(placement.device);
    const std::uint64_t order = m_stores.fetch_add(1, std::memory_order_relaxed) + 1;
    Result<StoreReport> stored = (*partition)->store(key, entry, order, placement.stream, {victims, gone});
    if (!stored && (*partition)->memory()->lost()) {
        recover(placement.device);
        stored = (*partition)->store(key, entry, order, placement.stream, {victims, gone});
    }
    if (!stored)
        return stored;
    // Other devices and partitions have an older value under this key, unless another thread was faster: then this
    // value is the older one.
    for (const std::unique_ptr<Partition>& other : partitions()) {
        if (other.get() == *partition)
            continue;
        stored->replaced |= other->remove_older(key, order);
        if (other->has_newer(key, order))
            (*partition)->remove_older(key, order + 1);
    }
    return stored;
}

Result<StoreReport> VramTier::copy_to_device(const Key& key, int device, Victims victims, std::vector<Victim>& gone)
{
    const Held held = hold(key, -1, false);
    if (!held.entry)
        return error(Code::not_found, "Entry {} is on no device of tier \"{}\".", key.hex(), m_options.name);
    const Result<Partition*> target = placed({.partition = held.partition->name(), .device = device});
    HEARTH_TRY(target);
    if (*target == held.partition)
        return StoreReport{held.entry->resident.bytes, false};
    // A store puts its value in first, and then removes older ones elsewhere, under the lock that this is asked under.
    // So either its value is seen here, or it sees this copy.
    const std::uint64_t order = held.entry->order();
    const std::unique_ptr<base::HazardSlot, ReleaseSlot> slot(base::acquire_slot());
    bool outdated = false;
    const auto is_outdated = [&] {
        return outdated = std::any_of(partitions().begin(), partitions().end(), [&](const auto& partition) {
                   return partition->shows_newer(key, order, slot.get());
               });
    };
    Result<StoreReport> stored = (*target)->store_copy(*held.entry, {victims, gone}, is_outdated);
    // What was copied may also have been removed meanwhile.
    if (stored && (outdated || !is_still_there(held))) {
        (*target)->remove_older(key, order + 1);
        return error(Code::unavailable, "Entry {} was replaced, removed or evicted while it was copied.", key.hex());
    }
    return stored;
}

bool VramTier::is_still_there(const Held& held)
{
    bool same = false;
    held.partition->entries().visit_one(held.entry->resident.key,
                                        [&](const resident::Node& node) { same = &node == held.entry; });
    return same;
}

bool VramTier::contains(const Key& key)
{
    return std::any_of(partitions().begin(), partitions().end(),
                       [&](const std::unique_ptr<Partition>& partition) { return partition->entries().contains(key); });
}

bool VramTier::remove(const Key& key)
{
    bool removed = false;
    for (const std::unique_ptr<Partition>& partition : partitions())
        removed |= partition->remove(key);
    return removed;
}

void VramTier::clear()
{
    for (const std::unique_ptr<Partition>& partition : partitions())
        partition->clear();
}

TierUsage VramTier::usage()
{
    TierUsage sum;
    for (const std::unique_ptr<Partition>& partition : partitions()) {
        const TierUsage usage = partition->entries().usage();
        sum.bytes += usage.bytes;
        sum.entries += usage.entries;
    }
    return sum;
}

}  // namespace tiers

}  // namespace hearth
