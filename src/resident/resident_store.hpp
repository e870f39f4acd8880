#pragma once

#include "base/fork.hpp"
#include "hearth/result.hpp"
#include "hearth/tier.hpp"
#include "resident/resident_table.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hearth::resident {

// Nodes that have left a store and wait to be let go. What was kept of them for another tier is taken first; they are
// retired at the end, and freed once no lease holds them.
class Departed {
public:
    Departed() = default;
    Departed(Departed&& other) noexcept : m_nodes(std::exchange(other.m_nodes, {})) {}
    Departed& operator=(Departed&& other) noexcept
    {
        m_nodes.swap(other.m_nodes);
        return *this;
    }
    Departed(const Departed&) = delete;
    Departed& operator=(const Departed&) = delete;
    ~Departed() { retire(); }

    struct One {
        Node* node;
        EvictionCause cause;
        bool worth_keeping;  // false: it has expired, and no other tier has a use for it
    };
    void add(Node* node, EvictionCause cause, bool worth_keeping) { m_nodes.push_back({node, cause, worth_keeping}); }
    const std::vector<One>& nodes() const noexcept { return m_nodes; }
    bool empty() const noexcept { return m_nodes.empty(); }
    void retire() noexcept;
    // A victim for each, without an entry.
    std::vector<Victim> victims() const;

private:
    std::vector<One> m_nodes;
};

// The entries of a tier that keeps them in memory of this process, host's or device's: found without a lock, within
// limits, let go in the order of a policy. What an entry consists of is the tier's own affair.
// Thread safety: all of it. One lock for every change; none for find(), unless the policy wants every touch.
// Ownership: nodes belong to the store from put() until they depart. A node under a hazard slot outlives all of that.
class ResidentStore {
public:
    // A node with the slot that protects it, to be released when done; or why not.
    struct Hit {
        Node* node = nullptr;
        base::HazardSlot* slot = nullptr;
        Miss why = Miss::absent;
    };

    ResidentStore(std::string name, const Clock& clock, std::unique_ptr<Policy> policy, const Limits& limits);

    Hit find(const Key& key);  // counts as a use
    // The same for many in a row, protected by the slot until the next. Null: a miss, or something find() must look at.
    Node* find_with(base::HazardSlot* slot, const Key& key);
    const ResidentTable& table() const noexcept { return m_table; }
    Hit peek(const Key& key);
    bool contains(const Key& key);

    // Makes room for an entry and keeps it until put() or give_up(). The entry that it will replace stays, and is
    // never among those who had to go.
    Result<Departed> reserve(const Resident& entry);
    void give_up(const Resident& entry) noexcept;
    // The entry for which room was made. `replaced` tells whether there was another, which has departed.
    Departed put(std::unique_ptr<Node> node, bool& replaced);
    // Both in one step.
    Result<Departed> store(std::unique_ptr<Node> node, bool& replaced);
    // The policy's next victim, whatever the limits say, but never the entry of `spare`.
    Departed evict_one(const Key* spare);

    bool remove(const Key& key);
    // Only if what is there now is the one it should be.
    bool remove_if(const Key& key, const std::function<bool(const Node&)>& goes);
    // Those for which `goes` says yes; how many there were.
    std::uint64_t remove_if(const std::function<bool(const Node&)>& goes);
    void clear();

    TierUsage usage() const;
    Limits limits() const;
    // What has expired and what no longer fits.
    Departed set_limits(const Limits& limits);
    Departed depart_expired();
    // Until no more is left, whatever the limits are.
    Departed evict_to(const EvictTo& goal);
    void set_policy(std::unique_ptr<Policy> policy);
    void touch(const Key& key, std::uint32_t uses);

    // Under the store's lock.
    void visit(const std::function<void(const Node&)>& visitor) const;
    bool visit_one(const Key& key, const std::function<void(const Node&)>& visitor) const;
    // What every tier knows of an entry; the rest is the tier's to fill in.
    EntryRow row_of(const Node& node) const;
    // Recorded bytes and counts equal those of the nodes.
    bool is_exact() const;

private:
    Hit find_carefully(const Key& key, ResidentTable::Protected found);
    ResidentTable::Protected make_sure(const Key& key, ResidentTable::Protected found);
    void set_careful();
    bool expired(const Node& node) const;
    std::uint64_t advance();
    void take_out(Node& node, EvictionCause cause, Departed& departed, bool worth_keeping = true);
    std::optional<Error> refusal(const Resident& entry) const;
    void make_room(const Node* spare, EvictionCause cause, Departed& departed);
    Node* victim(const Node* spare);
    bool over(const Node* spare) const;
    void depart_expired(EvictionCause cause, Departed& departed);
    void put_locked(std::unique_ptr<Node> owned, Departed& old, Departed& victims);

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
    std::uint64_t m_reserved_bytes = 0;  // of entries that are on their way in
    std::uint64_t m_reserved_entries = 0;
    // In a forked child: those who were on their way in did not come along.
    const base::ForkGuard m_at_fork{[this] { m_reserved_bytes = m_reserved_entries = 0; }};
};

// Here rather than in the .cpp: the path of every hit.
[[gnu::always_inline]] inline ResidentStore::Hit ResidentStore::find(const Key& key)
{
    const ResidentTable::Protected found = m_table.find(key);
    if (!found.node || found.node->expires != WallTime{} || m_careful.load(std::memory_order_relaxed))
        return find_carefully(key, found);
    found.node->resident.bump();
    found.node->resident.set_last_used(m_tick.load(std::memory_order_relaxed));
    return {found.node, found.slot, Miss::absent};
}

[[gnu::always_inline]] inline Node* ResidentStore::find_with(base::HazardSlot* slot, const Key& key)
{
    Node* node = m_table.find_with(slot, key);
    if (!node || node->expires != WallTime{} || m_careful.load(std::memory_order_relaxed))
        return nullptr;
    node->resident.bump();
    node->resident.set_last_used(m_tick.load(std::memory_order_relaxed));
    return node;
}

}  // namespace hearth::resident
