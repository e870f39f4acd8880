// Limits, listing, verifying and reports.

#include "base/error.hpp"
#include "tiers/vram/vram_tier.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace hearth::tiers {

// The limits of all partitions together; no limit if one of them has none.
Limits VramTier::limits() const
{
    const auto add = [](std::uint64_t sum, std::uint64_t more) { return sum == 0 || more == 0 ? 0 : sum + more; };
    std::vector<Limits> all;
    for (const std::unique_ptr<Partition>& partition : partitions())
        all.push_back(partition->entries().limits());
    if (all.empty()) {
        const std::lock_guard lock(m_mutex);
        for (std::size_t i = 0; i < m_options.devices.size(); ++i) {
            all.push_back(m_limits);
            for (const device::Partition& named : m_options.partitions)
                all.push_back({.max_bytes = named.max_bytes, .max_entries = 0, .max_age = m_limits.max_age});
        }
        for (Limits& limits : all)
            if (limits.max_bytes == device::k_recommended)
                limits.max_bytes = 0;  // not known before the device is
    }
    if (all.empty())
        return {};
    Limits sum = all.front();
    for (std::size_t i = 1; i < all.size(); ++i) {
        sum.max_bytes = add(sum.max_bytes, all[i].max_bytes);
        sum.max_entries = add(sum.max_entries, all[i].max_entries);
    }
    return sum;
}

// The named partitions keep their own limits; the unnamed ones, one on each device, share the rest.
std::vector<Victim> VramTier::set_limits(const Limits& limits, Victims victims)
{
    const std::uint64_t devices = std::max<std::uint64_t>(1, m_options.devices.size());
    std::uint64_t named = 0;
    if (partitions().empty())
        for (const device::Partition& partition : m_options.partitions)
            named += partition.max_bytes == device::k_recommended ? 0 : partition.max_bytes * devices;
    for (const std::unique_ptr<Partition>& partition : partitions())
        named += partition->name().empty() ? 0 : partition->entries().limits().max_bytes;
    const auto share = [&](std::uint64_t all, std::uint64_t taken) {
        return all == 0 ? 0 : std::max<std::uint64_t>(1, (all - std::min(all, taken)) / devices);
    };
    // What limits() tells is the sum of all, and 0 before a device is known: who gives that back changes nothing.
    const Limits shown = this->limits();
    const auto changed_of = [&](Limits before) {
        if (limits.max_bytes != shown.max_bytes)
            before.max_bytes = share(limits.max_bytes, named);
        if (limits.max_entries != shown.max_entries)
            before.max_entries = share(limits.max_entries, 0);
        before.max_age = limits.max_age;
        return before;
    };
    {
        const std::lock_guard lock(m_mutex);
        m_limits = changed_of(m_limits);
    }
    std::vector<Victim> gone;
    for (const std::unique_ptr<Partition>& partition : partitions()) {
        std::vector<Victim> here = partition->name().empty()
                                       ? partition->set_limits(changed_of(partition->entries().limits()), victims)
                                       : partition->set_max_age(limits.max_age);
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
    row.metadata = node.about().metadata;
    row.status = node.about().status;
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

// Brings all partitions together down to the goal, by evicting from the fullest.
std::vector<Victim> VramTier::evict_to(const EvictTo& goal, const Progress& /*progress*/)
{
    std::vector<Victim> gone;
    for (const std::unique_ptr<Partition>& partition : partitions())
        partition->evict_to({.unused_for = goal.unused_for}, gone);
    std::vector<Partition*> fullest;
    for (const std::unique_ptr<Partition>& partition : partitions())
        fullest.push_back(partition.get());
    std::sort(fullest.begin(), fullest.end(),
              [](Partition* a, Partition* b) { return a->entries().usage().bytes > b->entries().usage().bytes; });
    const auto left = [](const std::optional<std::uint64_t>& most, std::uint64_t in_all, std::uint64_t here) {
        const std::uint64_t too_many = most ? in_all - std::min(in_all, *most) : 0;
        return here - std::min(here, too_many);
    };
    for (Partition* partition : fullest) {
        const TierUsage all = usage();
        const TierUsage here = partition->entries().usage();
        partition->evict_to({.max_bytes = left(goal.max_bytes, all.bytes, here.bytes),
                             .max_entries = left(goal.max_entries, all.entries, here.entries)},
                            gone);
    }
    return gone;
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
                continue;  // it could not be read, so nothing is known about its bytes
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

std::vector<Victim> VramTier::maintain(std::stop_token stop)
{
    std::vector<Victim> gone;
    for (const std::unique_ptr<Partition>& partition : partitions()) {
        std::vector<Victim> here = partition->drop_expired(stop);
        gone.insert(gone.end(), std::make_move_iterator(here.begin()), std::make_move_iterator(here.end()));
    }
    return gone;
}

void VramTier::trim()
{
    for (const std::unique_ptr<Partition>& partition : partitions())
        partition->trim();
}

Result<device::GivenBack> VramTier::give_back(std::uint64_t bytes, int device, Victims victims)
{
    if (device < 0 || static_cast<std::size_t>(device) >= m_options.devices.size())
        return error(Code::not_found, "Tier \"{}\" has no device {}: it has {} device(s), counted from 0.",
                     m_options.name, device, m_options.devices.size());
    device::GivenBack done;
    std::vector<Partition*> here;
    for (const std::unique_ptr<Partition>& partition : partitions())
        if (partition->device() == device && !partition->memory()->lost())
            here.push_back(partition.get());
    // No entry goes for what is empty in another partition.
    for (Partition* partition : here)
        done.bytes += partition->trim();
    for (Partition* partition : here)
        if (done.bytes < bytes)
            done.bytes += partition->give_back(bytes - done.bytes, victims, done.victims);
    return done;
}

std::string VramTier::note()
{
    const Partitions& all = partitions();
    if (all.empty())
        return {};
    const auto memory = all.front()->memory();  // not under the lock: it may go with this, and has locks of its own
    const std::lock_guard lock(m_mutex);
    const std::string note = fmt::format("{}: {}", to_string(memory->device().backend), memory->device().name);
    return m_fallback.empty() ? note : fmt::format("{} ({})", note, m_fallback);
}

device::Report VramTier::report()
{
    device::Report report;
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

}  // namespace hearth::tiers
