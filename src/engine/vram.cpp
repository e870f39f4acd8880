// The device memory of a cache, as its users see it: the tier does the work, the engine takes care of the victims.

#include "hearth/vram.hpp"

#include "base/clock.hpp"
#include "engine/engine.hpp"

#include <fmt/format.h>

namespace hearth {

namespace {

Error no_vram()
{
    return {
        Code::not_found,
        "This cache has no tier in device memory. Open it with one: .tiers = {memory(256_MiB), vram::tier(512_MiB), "
        "disk(\"cache\")}, or set HEARTH_VRAM.",
        {}};
}

}  // namespace

vram::Lease Vram::lease(const Key& key, const vram::LeaseOptions& options) const
{
    if (!m_tier)
        return {};
    return m_engine->lease(m_place, *m_tier, key, options);
}

Result<vram::Lease> Vram::load(const Key& key, const vram::Placement& placement) const
{
    if (!m_tier)
        return no_vram();
    const vram::LeaseOptions there{.device = placement.device, .stream = placement.stream};
    if (vram::Lease found = lease(key, there))
        return found;
    if (!copy_to_device(key, placement.device).ok()) {
        const Lookup elsewhere = m_engine->find(key);
        if (!elsewhere)
            return Error{Code::not_found,
                         fmt::format("Entry {} is in no tier ({}).", key.hex(), to_string(elsewhere.why())),
                         {}};
        const Result<StoreReport> stored =
            m_engine->store_on_device(m_place, *m_tier, key, Entry(elsewhere.share()), placement);
        if (!stored)
            return stored.error();
    }
    if (vram::Lease found = lease(key, there))
        return found;
    return Error{Code::unavailable, fmt::format("Entry {} was evicted as soon as it was loaded.", key.hex()), {}};
}

Result<vram::HostCopy> Vram::read(const Key& key) const
{
    Result<vram::HostCopy> copy = read_many({&key, 1});
    if (copy && !copy->has())
        return Error{Code::not_found, fmt::format("Entry {} is not in device memory.", key.hex()), {}};
    return copy;
}

Result<vram::HostCopy> Vram::read_many(std::span<const Key> keys) const
{
    if (!m_tier)
        return no_vram();
    return m_engine->read_from_device(m_place, *m_tier, keys);
}

Result<InsertReport> Vram::insert(const Key& key, Artifact artifact, const vram::Placement& placement) const
{
    if (!m_tier)
        return no_vram();
    return m_engine->insert_on_device(m_place, *m_tier, key, std::move(artifact), placement);
}

Result<InsertReport> Vram::insert(const Key& key, ByteView bytes, const vram::Placement& placement) const
{
    return insert(key, Artifact(Bytes::copy_of(bytes)), placement);
}

Status Vram::copy_to_device(const Key& key, int device) const
{
    if (!m_tier)
        return no_vram();
    return m_engine->copy_to_device(m_place, *m_tier, key, device);
}

Result<vram::Report> Vram::report() const
{
    if (!m_tier)
        return no_vram();
    return m_tier->report();
}

Vram Cache::vram(std::string_view tier)
{
    return m_engine->vram(tier);
}

namespace engine {

Vram Engine::vram(std::string_view name)
{
    for (std::size_t i = 0; i < m_tiers.size(); ++i)
        if (auto* device = dynamic_cast<DeviceTier*>(m_tiers[i].get()); device && (name.empty() || m_names[i] == name))
            return {this, i, device};
    return {nullptr, 0, nullptr};
}

// What is not here may be in a slower tier: a miss is counted where there is none.
vram::Lease Engine::lease(std::size_t place, DeviceTier& tier, const Key& key, const vram::LeaseOptions& options)
{
    vram::Lease found = tier.lease(key, options);
    if (found)
        m_counters.mine().hit(place, {});
    else if (place + 1 == m_tiers.size())
        m_counters.miss(Miss::absent);
    return found;
}

Result<vram::HostCopy> Engine::read_from_device(std::size_t place, DeviceTier& tier, std::span<const Key> keys)
{
    const std::uint64_t start = base::monotonic_ns();
    Result<vram::HostCopy> copy = tier.read_many(keys);
    if (!copy) {
        m_counters.add(place, TierCount::outages);
        return copy;
    }
    const std::size_t found = copy->found();
    m_counters.add(place, TierCount::hits, found);
    if (place + 1 == m_tiers.size())
        m_counters.miss(Miss::absent, keys.size() - found);
    if (keys.size() == 1 && found == 1)
        m_latency[place].add(base::monotonic_ns() - start);
    return copy;
}

Result<StoreReport> Engine::store_on_device(std::size_t place, DeviceTier& tier, const Key& key, const Entry& entry,
                                            const vram::Placement& placement)
{
    const Victims keep = something_slower_is_writable(place) ? Victims::keep : Victims::discard;
    return settle_store(place, tier.store_at(key, entry, placement, keep));
}

Result<InsertReport> Engine::insert_on_device(std::size_t place, DeviceTier& tier, const Key& key, Artifact artifact,
                                              const vram::Placement& placement)
{
    if (artifact.created == WallTime{})
        artifact.created = m_clock.now();
    const Entry entry(std::make_shared<const Artifact>(std::move(artifact)));
    const Result<StoreReport> stored = store_on_device(place, tier, key, entry, placement);
    if (!stored)
        return stored.error();
    // An older value must not answer from another tier.
    for (std::size_t i = 0; i < m_tiers.size(); ++i)
        if (i != place)
            m_tiers[i]->remove(key);
    m_counters.add(Count::stores);
    return InsertReport{{m_names[place]}, {}};
}

Status Engine::copy_to_device(std::size_t place, DeviceTier& tier, const Key& key, int device)
{
    const Victims keep = something_slower_is_writable(place) ? Victims::keep : Victims::discard;
    const Result<StoreReport> stored = settle_store(place, tier.copy_to_device(key, device, keep));
    return stored ? Status{} : Status{stored.error()};
}

}  // namespace engine

}  // namespace hearth
