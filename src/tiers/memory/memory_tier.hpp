#pragma once

#include "hearth/tier.hpp"
#include "resident/artifact_node.hpp"
#include "resident/resident_store.hpp"

#include <memory>
#include <string>

namespace hearth::tiers {

// Artifacts in host memory, within limits on bytes and entries; memory_cost.hpp says what an entry takes.
// Thread safety: all of it. One lock for every change; none for find(), unless the policy wants every touch.
// Ownership: holds artifacts; a lease outlives eviction, clear() and the tier itself.
// Cost: find() is one probe, no lock, no allocation, and writes no cache line that other threads read, except
// for a use counter until it saturates.
class MemoryTier final : public Tier, public resident::ArtifactsAtHand {
public:
    MemoryTier(MemoryOptions options, const TierContext& context);

    std::string_view name() const override { return m_name; }
    TierTraits traits() const override { return {}; }
    Found find(const Key& key) override;
    resident::HeldArtifact find_held(const Key& key, Miss& why) override;
    Found peek(const Key& key) override;
    Result<StoreReport> store(const Key& key, const Entry& entry, Victims victims, std::vector<Victim>& gone) override;
    bool contains(const Key& key) override { return m_store.contains(key); }
    bool remove(const Key& key) override { return m_store.remove(key); }
    void clear() override { m_store.clear(); }
    TierUsage usage() override { return m_store.usage(); }
    Limits limits() const override { return m_store.limits(); }
    std::vector<Victim> set_limits(const Limits& limits, Victims victims) override;
    void set_policy(const PolicyFactory& policy) override { m_store.set_policy(policy()); }
    std::optional<EntryRow> info(const Key& key) override;
    void for_each(const std::function<bool(const EntryRow&)>& visit) override;
    std::vector<Victim> evict_to(const EvictTo& goal, const Progress& progress) override;
    VerifyReport verify(Repair repair, const Progress& progress) override;
    void touch(const Key& key, std::uint32_t uses) override { m_store.touch(key, uses); }
    std::vector<Victim> maintain(std::stop_token stop) override;

private:
    EntryRow row_of(const resident::Node& node) const;

    const std::string m_name;
    resident::ResidentStore m_store;
};

}  // namespace hearth::tiers
