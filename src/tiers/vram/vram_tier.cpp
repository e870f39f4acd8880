#include "tiers/vram/vram_tier.hpp"

#include "base/thread_index.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth {

namespace vram {

TierSpec tier(Options options)
{
    return {options.name, [options](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                auto tier = std::make_unique<tiers::VramTier>(options, context, gpu::open_device_memory);
                // Without a fallback whoever opens the cache is to learn that there is no device.
                if (options.fallback == Fallback::none)
                    if (Status status = tier->open(); !status.ok())
                        return status.error();
                return {std::move(tier)};
            }};
}

TierSpec tier(std::uint64_t max_bytes)
{
    return tier(Options{.max_bytes = max_bytes});
}

}  // namespace vram

namespace tiers {

namespace {

constexpr std::uint64_t k_when_unknown = 256_MiB;  // of a device that does not tell how large it is

// Before anything was opened.
const std::vector<std::unique_ptr<Partition>> k_no_partitions;

}  // namespace

VramTier::VramTier(vram::Options options, const TierContext& context, OpenMemory open_memory)
    : m_options(std::move(options)), m_clock(*context.clock), m_log(context.log), m_open_memory(std::move(open_memory)),
      m_policy(context.policy), m_limits{.max_bytes = m_options.max_bytes,
                                         .max_entries = m_options.max_entries,
                                         .max_age = {}}
{
}

void VramTier::say(const std::string& message) const
{
    if (m_log)
        m_log(LogLevel::warning, message);
}

Status VramTier::open()
{
    const Result<const Partitions*> result = opened();
    return result ? Status{} : Status{result.error()};
}

const VramTier::Partitions& VramTier::partitions() const noexcept
{
    // acquire: pairs with the release in opened(), so that they are seen filled in.
    const Partitions* all = m_partitions.load(std::memory_order_acquire);
    return all ? *all : k_no_partitions;
}

Limits VramTier::limits_of(const Limits& limits, std::uint64_t device_bytes, const vram::Partition* named)
{
    Limits here = limits;
    if (named)
        here = {.max_bytes = named->max_bytes, .max_entries = 0, .max_age = limits.max_age};
    if (here.max_bytes == vram::k_recommended)
        here.max_bytes = device_bytes == 0 ? k_when_unknown : vram::recommended_bytes(device_bytes);
    return here;
}

// The one that was asked for, or the host's where that is allowed.
Result<std::shared_ptr<gpu::DeviceMemory>> VramTier::open_device(std::size_t device, std::string& fallback) const
{
    const int index = m_options.devices[device];
    Result<std::shared_ptr<gpu::DeviceMemory>> memory = m_open_memory(m_options.backend, index);
    const bool automatic = m_options.backend == vram::Backend::automatic;
    if (memory && automatic && (*memory)->device().backend == vram::Backend::host && fallback.empty())
        fallback = "no GPU was found";
    if (memory || m_options.fallback == vram::Fallback::none)
        return memory;
    fallback = memory.error().message;
    say(fmt::format("Tier \"{}\" uses host memory: {}", m_options.name, fallback));
    return gpu::open_host_memory(static_cast<int>(device));
}

Result<VramTier::Partitions> VramTier::open_partitions(std::string& fallback) const
{
    Limits limits;
    PolicyFactory policy;
    {
        const std::lock_guard lock(m_mutex);
        limits = m_limits;
        policy = m_policy;
    }
    Partitions partitions;
    for (std::size_t device = 0; device < m_options.devices.size(); ++device) {
        const Result<std::shared_ptr<gpu::DeviceMemory>> memory = open_device(device, fallback);
        if (!memory)
            return memory.error();
        const auto add = [&](const std::string& name, const Limits& here) {
            partitions.push_back(std::make_unique<Partition>(m_options.name, name, static_cast<int>(device), m_clock,
                                                             policy(), here, *memory, m_transfers));
        };
        add("", limits_of(limits, (*memory)->device().total_bytes, nullptr));
        for (const vram::Partition& named : m_options.partitions)
            add(named.name, limits_of(limits, (*memory)->device().total_bytes, &named));
    }
    return partitions;
}

Result<const VramTier::Partitions*> VramTier::opened()
{
    if (const Partitions* all = m_partitions.load(std::memory_order_acquire))
        return all;
    // Not under the lock: it takes long, and what is made here has locks of its own, which a fork must find at rest.
    // Two threads may come here at once; what the second has made goes again.
    std::string fallback;
    Result<Partitions> made = open_partitions(fallback);
    if (!made)
        return made.error();
    const std::lock_guard lock(m_mutex);
    if (const Partitions* all = m_partitions.load(std::memory_order_relaxed))
        return all;
    m_all.swap(*made);
    m_fallback = fallback;
    m_partitions.store(&m_all, std::memory_order_release);
    return &m_all;
}

Result<Partition*> VramTier::placed(const vram::Placement& placement)
{
    const Result<const Partitions*> all = opened();
    if (!all)
        return all.error();
    for (const std::unique_ptr<Partition>& partition : **all)
        if (partition->device() == placement.device && partition->name() == placement.partition)
            return partition.get();
    return Error{
        Code::not_found,
        fmt::format("Tier \"{}\" has no partition \"{}\" on device {}: it has {} device(s), counted from 0, and "
                    "{} named partition(s). Name it in vram::Options.",
                    m_options.name, placement.partition, placement.device, m_options.devices.size(),
                    m_options.partitions.size()),
        {}};
}

// The device went, or its context, with everything in it. Opened again, or the host's memory in its place; if neither
// can be had, stores are refused and what else there is goes on.
void VramTier::recover(int device)
{
    std::shared_ptr<gpu::DeviceMemory> memory;
    for (const std::unique_ptr<Partition>& partition : partitions()) {
        if (partition->device() != device || !partition->memory()->lost())
            continue;
        if (!memory) {
            say(fmt::format("Tier \"{}\" lost {} and what it held there.", m_options.name,
                            partition->memory()->device().name));
            std::string fallback;
            Result<std::shared_ptr<gpu::DeviceMemory>> opened = open_device(static_cast<std::size_t>(device), fallback);
            if (!opened || (*opened)->lost()) {
                partition->entries().clear();
                continue;
            }
            memory = *std::move(opened);
            const std::lock_guard lock(m_mutex);
            m_fallback = fallback;
        }
        partition->renew(memory);
    }
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
        const auto* entry = static_cast<const vram::ResidentEntry*>(hit.node);
        std::unique_ptr<base::HazardSlot, ReleaseSlot> slot(hit.slot);
        if (!entry->memory().lost())
            return {entry, std::move(slot), partition.get(), Miss::absent};
        slot.reset();
        recover(partition->device());
        // One that was stored while its device was replaced is in the new table, and of the old device.
        partition->remove(key);
        held.why = Miss::outage;
    }
    return held;
}

vram::Lease VramTier::lease(const Key& key, const vram::LeaseOptions& options)
{
    Held held = hold(key, options.device, true);
    if (!held.entry)
        return {};
    const vram::ResidentEntry& entry = *held.entry;
    vram::Lease lease(held.slot.release(), held.entry, entry.region(), entry.device());
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
    const vram::ResidentEntry& entry = *held.entry;
    Result<std::shared_ptr<const Artifact>> artifact = entry.fetch();
    Found found;
    found.uses = entry.resident.uses();
    found.bytes = entry.resident.bytes;
    found.cost = entry.cost;
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
    Found found = fetch(hold(key, -1, true));
    if (!found && found.why == Miss::corrupt)
        remove(key);
    return found;
}

Found VramTier::peek(const Key& key)
{
    return fetch(hold(key, -1, false));
}

Result<StoreReport> VramTier::store(const Key& key, const Entry& entry, Victims victims)
{
    return store_at(key, entry, {}, victims);
}

Result<StoreReport> VramTier::store_at(const Key& key, const Entry& entry, const vram::Placement& placement,
                                       Victims victims)
{
    const Result<Partition*> partition = placed(placement);
    if (!partition)
        return partition.error();
    if ((*partition)->memory()->lost())
        recover(placement.device);
    Result<StoreReport> stored = (*partition)->store(key, *entry.artifact(), placement.stream, victims);
    if (!stored && (*partition)->memory()->lost()) {
        recover(placement.device);
        stored = (*partition)->store(key, *entry.artifact(), placement.stream, victims);
    }
    if (!stored)
        return stored;
    // What other devices and partitions have under this key is what it was before.
    for (const std::unique_ptr<Partition>& other : partitions())
        if (other.get() != *partition)
            stored->replaced |= other->remove(key);
    return stored;
}

Result<StoreReport> VramTier::copy_to_device(const Key& key, int device, Victims victims)
{
    const Held held = hold(key, -1, false);
    if (!held.entry)
        return Error{
            Code::not_found, fmt::format("Entry {} is on no device of tier \"{}\".", key.hex(), m_options.name), {}};
    const Result<Partition*> target = placed({.partition = held.partition->name(), .device = device});
    Result<StoreReport> stored = !target ? Result<StoreReport>(target.error())
                                 : *target == held.partition
                                     ? Result<StoreReport>(StoreReport{held.entry->resident.bytes, false, {}})
                                     : (*target)->store_copy(*held.entry, victims);
    // A new value that came meanwhile has removed what other devices had; then the copy is of the old one.
    if (stored && *target != held.partition && !is_still_there(held))
        (*target)->remove(key);
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

// Of all partitions together; without a limit when one of them has none.
Limits VramTier::limits() const
{
    const Partitions& all = partitions();
    if (all.empty()) {
        const std::lock_guard lock(m_mutex);
        Limits limits = m_limits;
        if (limits.max_bytes == vram::k_recommended)
            limits.max_bytes = 0;  // not known before the device is
        return limits;
    }
    Limits sum = all.front()->entries().limits();
    for (std::size_t i = 1; i < all.size(); ++i) {
        const Limits limits = all[i]->entries().limits();
        sum.max_bytes = sum.max_bytes == 0 || limits.max_bytes == 0 ? 0 : sum.max_bytes + limits.max_bytes;
    }
    return sum;
}

// What the named partitions have been given is theirs; the rest is shared by the unnamed ones.
std::vector<Victim> VramTier::set_limits(const Limits& limits, Victims victims)
{
    Limits each = limits;
    std::uint64_t named = 0;
    for (const vram::Partition& partition : m_options.partitions)
        named += partition.max_bytes;
    const std::uint64_t devices = m_options.devices.size();
    if (each.max_bytes != 0)
        each.max_bytes =
            std::max<std::uint64_t>(1, (each.max_bytes - std::min(each.max_bytes, named * devices)) / devices);
    {
        const std::lock_guard lock(m_mutex);
        m_limits = each;
    }
    std::vector<Victim> gone;
    for (const std::unique_ptr<Partition>& partition : partitions()) {
        if (!partition->name().empty())
            continue;
        std::vector<Victim> here = partition->set_limits(each, victims);
        gone.insert(gone.end(), std::make_move_iterator(here.begin()), std::make_move_iterator(here.end()));
    }
    return gone;
}

void VramTier::set_policy(const PolicyFactory& policy)
{
    {
        const std::lock_guard lock(m_mutex);
        m_policy = policy;
    }
    for (const std::unique_ptr<Partition>& partition : partitions())
        partition->entries().set_policy(policy());
}

EntryRow VramTier::row_of(const resident::Node& node, Partition& partition) const
{
    EntryRow row = partition.entries().row_of(node);
    row.metadata = static_cast<const vram::ResidentEntry&>(node).head().metadata;
    row.status = static_cast<const vram::ResidentEntry&>(node).head().status;
    return row;
}

std::optional<EntryRow> VramTier::info(const Key& key)
{
    std::optional<EntryRow> row;
    for (const std::unique_ptr<Partition>& partition : partitions())
        if (!row)
            partition->entries().visit_one(key, [&](const resident::Node& node) { row = row_of(node, *partition); });
    return row;
}

void VramTier::for_each(const std::function<bool(const EntryRow&)>& visit)
{
    std::vector<EntryRow> rows;
    for (const std::unique_ptr<Partition>& partition : partitions())
        partition->entries().visit([&](const resident::Node& node) { rows.push_back(row_of(node, *partition)); });
    for (const EntryRow& row : rows)
        if (!visit(row))
            return;
}

std::uint64_t VramTier::remove_idle(std::chrono::seconds idle, const Progress& /*progress*/)
{
    std::uint64_t removed = 0;
    for (const std::unique_ptr<Partition>& partition : partitions())
        removed += partition->entries().remove_idle(idle);
    return removed;
}

VerifyReport VramTier::verify(Repair repair, const Progress& progress)
{
    VerifyReport report;
    for (const std::unique_ptr<Partition>& partition : partitions()) {
        report.accounting_exact &= partition->entries().is_exact();
        std::vector<Key> keys;
        partition->entries().visit([&](const resident::Node& node) { keys.push_back(node.resident.key); });
        for (const Key& key : keys) {
            if (progress && !progress(report.checked, 0))
                return report;
            const Held held = hold(key, partition->device(), false);
            if (!held.entry)
                continue;
            const Result<std::shared_ptr<const Artifact>> artifact = held.entry->fetch();
            ++report.checked;
            if (artifact) {
                ++report.intact;
                continue;
            }
            report.problems.push_back(artifact.error().message);
            if (artifact.error().code != Code::corrupt)
                continue;  // it could not be read, which says nothing of its bytes
            ++report.corrupt;
            report.removed += repair == Repair::yes && partition->remove(key) ? 1 : 0;
        }
    }
    return report;
}

void VramTier::touch(const Key& key, std::uint32_t uses)
{
    for (const std::unique_ptr<Partition>& partition : partitions())
        partition->entries().touch(key, uses);
}

std::vector<Victim> VramTier::maintain(std::stop_token /*stop*/)
{
    std::vector<Victim> gone;
    for (const std::unique_ptr<Partition>& partition : partitions()) {
        std::vector<Victim> here = partition->drop_expired();
        gone.insert(gone.end(), std::make_move_iterator(here.begin()), std::make_move_iterator(here.end()));
    }
    return gone;
}

std::string VramTier::note()
{
    const Partitions& all = partitions();
    if (all.empty())
        return {};
    const std::lock_guard lock(m_mutex);
    std::string note =
        fmt::format("{}: {}", to_string(all.front()->memory()->device().backend), all.front()->memory()->device().name);
    return m_fallback.empty() ? note : fmt::format("{} ({})", note, m_fallback);
}

vram::Report VramTier::report()
{
    vram::Report report;
    report.backend = m_options.backend;
    for (const std::unique_ptr<Partition>& partition : partitions()) {
        report.partitions.push_back(partition->usage());
        if (static_cast<std::size_t>(partition->device()) == report.devices.size())
            report.devices.push_back(partition->memory()->device());
    }
    if (!report.devices.empty())
        report.backend = report.devices.front().backend;
    report.transfers.to_device = m_transfers.to_device.load(std::memory_order_relaxed);
    report.transfers.to_device_bytes = m_transfers.to_device_bytes.load(std::memory_order_relaxed);
    report.transfers.to_host = m_transfers.to_host.load(std::memory_order_relaxed);
    report.transfers.to_host_bytes = m_transfers.to_host_bytes.load(std::memory_order_relaxed);
    report.transfers.between_devices = m_transfers.between_devices.load(std::memory_order_relaxed);
    for (const Counter& counter : m_counters)
        report.transfers.leases += counter.leases.load(std::memory_order_relaxed);
    const std::lock_guard lock(m_mutex);
    report.fallback = m_fallback;
    return report;
}

}  // namespace tiers

}  // namespace hearth
