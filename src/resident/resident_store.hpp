#pragma once

#include "base/fork.hpp"
#include "hearth/result.hpp"
#include "hearth/tier.hpp"
#include "resident/resident_table.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <vector>

namespace hearth::resident {

// Nodes that have left a store and are still to be freed. First, what another tier is to keep is taken from them. They
// are retired when this is destroyed, and freed once no lease holds them.
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

// The memory that an entry needs beside its part of the budget: in one piece, and not under a lease. Asked under the
// store's lock.
class Room {
public:
    virtual ~Room() = default;
    virtual bool enough() = 0;
    // The same if this node goes too, and all that were named before it.
    virtual bool enough_without(const Node& node) = 0;
    // Once there is enough: whether this one has to go for it.
    virtual bool needs(const Node& node) const = 0;
    // Why there cannot be enough, when all were named.
    virtual Error refusal() const = 0;
};

// The entries of a tier that keeps them in this process's memory, on the host or a device. They are found without a
// lock, kept within limits, and evicted in the order of a policy. What an entry consists of is up to the tier.
// Thread safety: all of it. One lock for every change; none for find(), unless the policy wants every touch.
// Ownership: nodes belong to the store from put() until they depart. A node that a hazard slot protects outlives that.
class ResidentStore {
public:
    // A node with the slot that protects it (release it when done), or the reason for the miss.
    struct Hit {
        Node* node = nullptr;
        base::HazardSlot* slot = nullptr;
        Miss why = Miss::absent;
    };

    static constexpr std::size_t k_slots_at_once = 4096;
    // So much of what entries take beside their bytes is free: a small tier holds just what its limit says.
    static constexpr std::uint64_t k_free_beside = 1_MiB;

    ResidentStore(std::string name, const Clock& clock, std::unique_ptr<Policy> policy, const Limits& limits);

    Hit find(const Key& key);  // counts as a use
    // The same for whoever wants a hit in registers. `why` is set only on a miss.
    ResidentTable::Held find_held(const Key& key, Miss& why);
    // The same for many in a row; the slot protects the node until the next call. Null: a miss, or a case for find().
    Node* find_with(base::HazardSlot* slot, const Key& key);
    // Lets the hits that follow be noted at the present second. Call it ahead of many find_with(); find() does it
    // itself, as long as it still counts the entry's uses. What is used more often than is counted may be noted as late
    // as the last maintenance: a clock would cost such a hit a fifth of its time.
    void look_at_clock();
    const ResidentTable& table() const noexcept { return m_table; }
    Hit peek(const Key& key);
    bool contains(const Key& key);

    // Makes room for an entry and keeps the room until put() or give_up(). The entry that it will replace stays, and is
    // never among those that are evicted, unless there is no other room for the new one. On an Error nothing has
    // changed.
    Result<Departed> reserve(const Resident& entry, Room& room);
    void give_up(const Resident& entry) noexcept;
    // Evicts what has to go for `room`, as little as it can, and the entry of `key` last. On an Error nothing has
    // changed.
    Result<Departed> evict_for(const Key& key, Room& room);
    // Puts in the entry for which room was made. `replaced` tells whether it replaced another. `outdated` is asked
    // under the lock, with what is there: if it says so, this entry is dropped and nothing changes.
    using Outdated = std::function<bool(const Node* there)>;
    Departed put(std::unique_ptr<Node> node, bool& replaced, const Outdated& outdated = {});
    // Both in one step, and only if the policy finds that the entry outweighs those that must go for it.
    Result<Departed> store(std::unique_ptr<Node> node, bool& replaced);

    // For entries that leave only once somebody has agreed. Whoever uses these makes one change at a time, and uses
    // nothing above that evicts. (resident_aside.cpp)
    //
    // What came of asking for room: it is reserved, until place() or give_up(); or these have to leave first; or those
    // that may go are not enough. Until take() or put_back() victims stay where they are and count, but the policy does
    // not know them.
    struct Offer {
        enum class Answer : std::uint8_t { reserved, after_victims, full } answer = Answer::reserved;
        std::vector<Node*> victims;
    };
    enum class Weigh : std::uint8_t { no, yes };
    // For `entry`, or none: then only the limits are to be kept. `may_go` is asked under the lock, and says no to what
    // the entry replaces. An error: the entry is too large, or the policy does not want it.
    Result<Offer> ask_for_room(const Resident* entry, Weigh weigh, const std::function<bool(Node&)>& may_go);
    void put_back(Node& node);
    Departed take(Node& node);
    // Puts in the entry for which room was reserved. Returns what it replaced.
    Departed place(std::unique_ptr<Node> node);
    // Evicts nothing.
    void change_limits(const Limits& limits);

    bool remove(const Key& key);
    // Only if `goes` returns true for the node that is there now.
    bool remove_if(const Key& key, const std::function<bool(const Node&)>& goes);
    // Removes all nodes for which `goes` returns true, and returns how many there were.
    std::uint64_t remove_if(const std::function<bool(const Node&)>& goes);
    void clear();

    TierUsage usage() const;
    Limits limits() const;
    // Returns what has expired and what no longer fits.
    Departed set_limits(const Limits& limits);
    // Takes the lock for k_slots_at_once at a time: others get in between. Told to stop, it leaves the rest.
    Departed depart_expired(const std::stop_token& stop);
    // Evicts until no more than the goal is left, whatever the limits are.
    Departed evict_to(const EvictTo& goal);
    void set_policy(std::unique_ptr<Policy> policy);
    void touch(const Key& key, std::uint32_t uses);

    // Under the store's lock.
    void visit(const std::function<void(const Node&)>& visitor) const;
    bool visit_one(const Key& key, const std::function<void(const Node&)>& visitor) const;
    // What every tier knows of an entry; the tier fills in the rest.
    EntryRow row_of(const Node& node) const;
    // Whether the recorded bytes and counts equal those of the nodes.
    bool is_exact() const;

private:
    ResidentTable::Held find_carefully(const Key& key, ResidentTable::Held found, Miss& why);
    ResidentTable::Protected make_sure(const Key& key, ResidentTable::Protected found);
    void set_careful();
    bool expired(const Node& node) const { return expired(node, m_clock.now()); }
    bool expired(const Node& node, WallTime now) const;
    std::uint64_t advance();
    void note_use(Resident& entry);
    void take_out(Node& node, EvictionCause cause, Departed& departed, bool worth_keeping = true);
    std::optional<Error> refusal(const Resident& entry, std::uint64_t beside = 0) const;
    bool outweighs_others(const Resident& entry, std::uint64_t beside);
    Status evict_for(Node* spare, Room& room, Departed& departed);
    void make_room(const Node* spare, EvictionCause cause, Departed& departed, std::uint64_t coming = 0);
    Node* victim(const Node* spare);
    bool over(const Node* spare, std::uint64_t coming = 0) const;
    void count(const Node& node) noexcept;
    void count_out(const Node& node) noexcept;
    std::uint64_t counted_bytes(const Node* spare = nullptr, std::uint64_t coming = 0) const noexcept;
    std::size_t depart_expired(std::size_t slot, std::size_t count, EvictionCause cause, Departed& departed);
    Node& put_counted(std::unique_ptr<Node> owned, Departed& old);
    void put_locked(std::unique_ptr<Node> owned, Departed& old, Departed& victims);
    void note_limits(const Limits& limits);
    std::uint64_t most_bytes() const noexcept;
    bool outweighs_those_that_leave(const Resident& entry);
    bool fits(const Resident* entry, const Node* spare, std::uint64_t leaving_bytes,
              std::uint64_t leaving_entries) const;
    Node* next_to_go();
    void set_aside(Node& node);

    const std::string m_name;
    const Clock& m_clock;
    const bool m_system_time;
    ResidentTable m_table;
    // Wall time in nanoseconds, but strictly increasing with every change, whatever the clock does: the order of use.
    // Changed under the lock, and by a hit that finds it a second behind.
    std::atomic<std::uint64_t> m_tick{0};
    std::atomic<bool> m_every_touch{false};
    std::atomic<bool> m_careful{false};                          // a hit must do more than be counted
    std::atomic<std::int64_t> m_max_age{0};                      // seconds: m_limits' own, for hits
    mutable base::ForkSafeMutex m_mutex{base::LockLevel::tier};  // guards everything below, and changes of m_table
    Limits m_limits;
    std::unique_ptr<Policy> m_policy;
    std::uint64_t m_bytes = 0;
    std::uint64_t m_beside = 0;          // Node::beside() of all
    std::uint64_t m_reserved_bytes = 0;  // of entries that are on their way in
    std::uint64_t m_reserved_entries = 0;
    std::unordered_set<const Node*> m_aside;  // in the table, and not known to the policy
    // In a forked child there are none on their way in: the threads that were storing them did not come along.
    const base::ForkGuard m_at_fork{[this] { m_reserved_bytes = m_reserved_entries = 0; }};
};

// Here rather than in the .cpp, because every hit runs them.

[[gnu::always_inline]] inline void ResidentStore::note_use(Resident& entry)
{
    if (entry.uses() < Resident::k_max_uses) {
        entry.bump();
        look_at_clock();
    }
    entry.set_last_used(m_tick.load(std::memory_order_relaxed));
}

[[gnu::always_inline]] inline ResidentTable::Held ResidentStore::find_held(const Key& key, Miss& why)
{
    const ResidentTable::Held found = m_table.find_once(key);
    if (!found.node || found.node->expires != WallTime{} || m_careful.load(std::memory_order_relaxed))
        return find_carefully(key, found, why);
    note_use(found.node->resident);
    return found;
}

[[gnu::always_inline]] inline ResidentStore::Hit ResidentStore::find(const Key& key)
{
    Miss why = Miss::absent;
    const ResidentTable::Held found = find_held(key, why);
    return {found.node, found.slot, why};
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
