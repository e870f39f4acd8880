// From options to partitions of devices, when first needed, and again when a device is lost.

#include "base/error.hpp"
#include "tiers/vram/vram_tier.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::tiers {

namespace {

constexpr std::uint64_t k_when_unknown = 256_MiB;  // for a device that does not tell its size

// Used until the devices are opened.
const std::vector<std::unique_ptr<Partition>> k_no_partitions;

}  // namespace

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

// What a partition on that device may take, of limits for an unnamed one.
Limits VramTier::limits_of(const Limits& limits, const device::Device& device, const std::string& partition) const
{
    Limits here = limits;
    for (const device::Partition& named : m_options.partitions)
        if (!partition.empty() && named.name == partition)
            here = {.max_bytes = named.max_bytes, .max_entries = 0, .max_age = limits.max_age};
    if (here.max_bytes == device::k_recommended)
        here.max_bytes = device.total_bytes == 0 ? k_when_unknown : device::recommended_bytes(device.total_bytes);
    // What was meant for a GPU may be more than the host has, if it stands in for one.
    const bool stands_in = device.backend == device::Backend::host && m_options.backend != device::Backend::host;
    if (const std::uint64_t half = device.total_bytes / 2; stands_in && half != 0)
        here.max_bytes = here.max_bytes == 0 ? half : std::min(here.max_bytes, half);
    return here;
}

// Opens the device that was asked for, or host memory if that fallback is allowed.
// `said` gets what the log is to be told.
Result<std::shared_ptr<gpu::DeviceMemory>> VramTier::open_device(std::size_t device, std::string& fallback,
                                                                 std::vector<std::string>& said) const
{
    const int index = m_options.devices[device];
    Result<std::shared_ptr<gpu::DeviceMemory>> memory = m_open_memory(m_options.backend, index);
    const bool automatic = m_options.backend == device::Backend::automatic;
    if (memory && automatic && (*memory)->device().backend == device::Backend::host && fallback.empty())
        fallback = "no GPU was found";
    if (memory || m_options.fallback == device::Fallback::none)
        return memory;
    fallback = memory.error().message;
    said.push_back(fmt::format("Tier \"{}\" uses host memory: {}", m_options.name, fallback));
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
        std::vector<std::string> said;
        const Result<std::shared_ptr<gpu::DeviceMemory>> memory = open_device(device, fallback, said);
        for (const std::string& message : said)
            say(message);
        HEARTH_TRY(memory);
        const auto add = [&](const std::string& name) {
            partitions.push_back(std::make_unique<Partition>(m_options.name, name, static_cast<int>(device), m_clock,
                                                             policy(), limits_of(limits, (*memory)->device(), name),
                                                             *memory, m_transfers, m_kept_below));
        };
        add("");
        for (const device::Partition& named : m_options.partitions)
            add(named.name);
    }
    return partitions;
}

// Applies what was set while the devices were being opened. Called under the lock, before anything is stored.
void VramTier::apply_settings(const Partitions& partitions) const
{
    for (const std::unique_ptr<Partition>& partition : partitions) {
        partition->entries().set_policy(m_policy());
        if (partition->name().empty())
            partition->set_limits(limits_of(m_limits, partition->memory()->device(), ""), Victims::discard);
        else
            partition->set_max_age(m_limits.max_age);
    }
}

Result<const VramTier::Partitions*> VramTier::opened()
{
    if (const Partitions* all = m_partitions.load(std::memory_order_acquire))
        return all;
    // Not under the lock: it takes long, and the partitions have locks of their own, which nobody may hold at a fork.
    // Two threads may come here at once; then the partitions of the second are dropped.
    std::string fallback;
    Result<Partitions> made = open_partitions(fallback);
    HEARTH_TRY(made);
    const std::lock_guard lock(m_mutex);
    if (const Partitions* all = m_partitions.load(std::memory_order_relaxed))
        return all;
    apply_settings(*made);
    m_all.swap(*made);
    m_fallback = fallback;
    m_partitions.store(&m_all, std::memory_order_release);
    return &m_all;
}

// The device or its context was lost with everything in it. Opens it again, or host memory in its place. If neither is
// possible, stores are refused and the other partitions go on.
void VramTier::recover(int device)
{
    std::vector<std::string> said;
    reopen(device, said);
    // Without the lock: whoever is told may ask this tier.
    for (const std::string& message : said)
        say(message);
}

void VramTier::reopen(int device, std::vector<std::string>& said)
{
    // One after the other: a thread that came late would replace the memory that another has just opened.
    const auto recovering = m_recovering.hold();
    std::shared_ptr<gpu::DeviceMemory> memory;
    Limits limits;
    for (const std::unique_ptr<Partition>& partition : partitions()) {
        if (partition->device() != device || !partition->memory()->lost())
            continue;
        if (!memory) {
            said.push_back(fmt::format("Tier \"{}\" lost {} and what it held there.", m_options.name,
                                       partition->memory()->device().name));
            std::string fallback;
            Result<std::shared_ptr<gpu::DeviceMemory>> opened =
                open_device(static_cast<std::size_t>(device), fallback, said);
            if (!opened || (*opened)->lost()) {
                partition->entries().clear();
                continue;
            }
            memory = *std::move(opened);
            const std::lock_guard lock(m_mutex);
            m_fallback = fallback;
            limits = m_limits;
        }
        partition->renew(memory, limits_of(limits, memory->device(), partition->name()));
    }
}

}  // namespace hearth::tiers
