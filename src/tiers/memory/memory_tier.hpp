#pragma once

#include "base/fork.hpp"
#include "hearth/tier.hpp"
#include "tiers/memory/resident_table.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

namespace hearth::tiers {

// Artifacts in host memory, within a byte and a count budget; ours is counted in bytes of sections.
// Thread safety: all of it. One lock for every change; none for find(), unless the policy wants every touch.
// Ownership: holds artifacts; a lease outlives eviction, clear() and the tier itself.
// Cost: find() is one probe, no lock, no allocation, and writes no cache line that other threads read (a use counter
// until it saturates excepted).
class MemoryTier final : public Tier {
public:
    MemoryTier(MemoryOptions options, const TierContext& context);
    ~MemoryTier() override;

    std::string_view name() const override { return m_name; }
    TierTraits traits() const override { return {}; }
    Found find(const Key& key) override;
    Found peek(const Key& key) override;
    Result<StoreReport> store(const Key& key, const Entry& entry, Victims victims) override;
    bool contains(const Key& key) override;
    bool remove(const Key& key) override;
    void clear() override;
    TierUsage usage() override;
    Limits limits() const override;
    std::vector<Victim> set_limits(const Limits& limits, Victims victims) override;
    void set_policy(const PolicyFactory& policy) override;
    std::optional<EntryRow> info(const Key& key) override;
    void for_each(const std::function<bool(const EntryRow&)>& visit) override;
    std::uint64_t remove_idle(std::chrono::seconds idle, const Progress& progress) override;
    VerifyReport verify(Repair repair, const Progress& progress) override;
    void touch(const Key& key, std::uint32_t uses) override;
    std::vector<Victim> maintain(std::stop_token stop) override;

private:
    Found find_carefully(const Key& key, ResidentTable::Protected found);
    ResidentTable::Protected make_sure(const Key& key, ResidentTable::Protected found);
    void set_careful();
    bool expired(const Node& node) const;
    std::uint64_t advance();
    Node* unlink(const Key& key);
    std::uint64_t remove_if(const std::function<bool(const Node&)>& goes);
    void evict(Node& node, EvictionCause cause, Victims keep, std::vector<Victim>& out);
    // `spare`, which is about to be replaced and no longer counted, is never chosen.
    void make_room(std::uint64_t bytes, std::uint64_t entries, const Node* spare, EvictionCause cause, Victims keep,
                   std::vector<Victim>& out);
    void evict_expired(EvictionCause cause, std::vector<Victim>& out);
    bool over(std::uint64_t bytes, std::uint64_t entries) const;
    EntryRow row_of(const Node& node) const;

    const std::string m_name;
    const Clock& m_clock;
    ResidentTable m_table;
    // Wall time in nanoseconds, but strictly increasing with every change, whatever the clock does: the order of use.
    std::atomic<std::uint64_t> m_tick{0};
    std::atomic<bool> m_every_touch{false};
    std::atomic<bool> m_careful{false};                          // a hit has more to do than to count itself
    std::atomic<std::int64_t> m_max_age{0};                      // seconds: m_limits' own, for hits
    mutable base::ForkSafeMutex m_mutex{base::LockLevel::tier};  // guards everything below, and changes of m_table
    Limits m_limits;
    std::unique_ptr<Policy> m_policy;
    std::uint64_t m_bytes = 0;
};

}  // namespace hearth::tiers
