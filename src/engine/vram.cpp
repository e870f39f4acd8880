// The device memory of a cache, as its users see it: the tier does the work, the stack takes care of the victims.

#include "hearth/vram.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "engine/parts.hpp"

#include <algorithm>

namespace hearth {

namespace {

// What is evicted passes through host memory on its way to another tier: so much of it, and a block, at a time.
constexpr std::uint64_t k_given_at_once = 64_MiB;

Error no_vram()
{
    return error(Code::not_found, "{}",
                 "This cache has no tier in device memory. Open it with one: .tiers = {memory(256_MiB), "
                 "vram(512_MiB), disk(\"cache\")}, or set HEARTH_VRAM.");
}

}  // namespace

// What is not here may be in a slower tier, so a miss is counted only if there is no slower tier.
device::Lease Vram::lease(const Key& key, const device::LeaseOptions& options) const
{
    if (!m_tier)
        return {};
    device::Lease found = m_tier->lease(key, options);
    if (found)
        m_parts->counters.mine().hit(m_place, {}, CompilerKind::other);
    else if (m_place + 1 == m_parts->tiers.size())
        m_parts->counters.miss(Miss::absent);
    return found;
}

Result<device::Lease> Vram::load(const Key& key, const device::Placement& placement) const
{
    if (!m_tier)
        return no_vram();
    const device::LeaseOptions there{.device = placement.device, .stream = placement.stream};
    if (device::Lease found = lease(key, there))
        return found;
    if (!m_parts->stack.may_change())
        return engine::Stack::not_in_on_evict();
    if (!copy_to_device(key, placement.device).ok()) {
        engine::Stack& stack = m_parts->stack;
        const engine::Writes::Ticket read = stack.writes().now();
        const Lookup elsewhere = stack.find(key);
        if (!elsewhere)
            return error(Code::not_found, "Entry {} is in no tier ({}).", key.hex(), to_string(elsewhere.why()));
        const auto copy = [&]() -> engine::Stack::Stored {
            const engine::Writes::Copy copying(stack.writes(), key, read);
            if (!copying)
                return {error(Code::unavailable, "Entry {} was written while it was loaded.", key.hex())};
            return stack.store_in(m_place, key, Entry(elsewhere.share()), &placement);
        };
        HEARTH_TRY(stack.settle_store(m_place, copy(), read));
    }
    if (device::Lease found = lease(key, there))
        return found;
    return error(Code::unavailable, "Entry {} was evicted as soon as it was loaded.", key.hex());
}

Result<device::HostCopy> Vram::read(const Key& key) const
{
    Result<device::HostCopy> copy = read_many({&key, 1});
    if (copy && !copy->has())
        return error(Code::not_found, "Entry {} is not in device memory.", key.hex());
    return copy;
}

Result<device::HostCopy> Vram::read_many(std::span<const Key> keys) const
{
    if (!m_tier)
        return no_vram();
    engine::Counters& counters = m_parts->counters;
    const std::uint64_t start = base::monotonic_ns();
    Result<device::HostCopy> copy = m_tier->read_many(keys);
    if (!copy) {
        counters.add<&TierStats::outages>(m_place);
        return copy;
    }
    const std::size_t found = copy->found();
    counters.add<&TierStats::hits>(m_place, found);
    if (m_place + 1 == m_parts->tiers.size())
        counters.miss(Miss::absent, keys.size() - found);
    if (keys.size() == 1 && found == 1)
        counters.took(m_place, base::monotonic_ns() - start);
    return copy;
}

Result<InsertReport> Vram::insert(const Key& key, Artifact artifact, const device::Placement& placement) const
{
    if (!m_tier)
        return no_vram();
    return m_parts->stack.insert(key, std::move(artifact), {.tier = m_parts->tiers[m_place].name}, &placement);
}

Result<InsertReport> Vram::insert(const Key& key, ByteView bytes, const device::Placement& placement) const
{
    return insert(key, Artifact(Bytes::copy_of(bytes)), placement);
}

Status Vram::copy_to_device(const Key& key, int device) const
{
    if (!m_tier)
        return no_vram();
    engine::Stack& stack = m_parts->stack;
    if (!stack.may_change())
        return engine::Stack::not_in_on_evict();
    const engine::Writes::Ticket read = stack.writes().now();
    const auto copy = [&]() -> engine::Stack::Stored {
        const engine::Writes::Copy copying(stack.writes(), key, read);
        if (!copying)
            return {error(Code::unavailable, "Entry {} is being written.", key.hex())};
        std::vector<Victim> gone;
        Result<StoreReport> result = m_tier->copy_to_device(key, device, m_parts->tiers[m_place].victims, gone);
        return {std::move(result), std::move(gone)};
    };
    HEARTH_TRY(stack.settle_store(m_place, copy(), read));
    return {};
}

Status Vram::trim() const
{
    if (!m_tier)
        return no_vram();
    m_tier->trim();
    return {};
}

Result<std::uint64_t> Vram::give_back(std::uint64_t bytes, int device) const
{
    if (!m_tier)
        return no_vram();
    engine::Stack& stack = m_parts->stack;
    if (!stack.may_change())
        return engine::Stack::not_in_on_evict();
    // No more than there is now: what other threads store meanwhile is not chased.
    std::uint64_t reserved = 0;
    for (const device::PartitionUsage& partition : m_tier->report().partitions)
        reserved += partition.device == device ? partition.reserved_bytes : 0;
    std::uint64_t given = 0;
    do {
        const engine::Writes::Ticket read = stack.writes().now();
        const std::uint64_t left = std::min(bytes, reserved) - given;
        Result<device::GivenBack> step =
            m_tier->give_back(std::min(left, k_given_at_once), device, m_parts->tiers[m_place].victims);
        HEARTH_TRY(step);
        stack.settle_victims(m_place, std::move(step->victims), read);
        if (step->bytes == 0)
            break;
        given += step->bytes;
    } while (given < std::min(bytes, reserved));
    return given;
}

Result<device::Report> Vram::report() const
{
    if (!m_tier)
        return no_vram();
    return m_tier->report();
}

}  // namespace hearth
