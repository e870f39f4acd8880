#pragma once

#include "hearth/api.hpp"
#include "hearth/key.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>

namespace hearth {

// An entry as the tier that holds it sees it. Its address is stable from inserted() to removed(), so a policy
// may keep pointers to it. Size and cost are fixed; uses and recency move on their own as hits happen.
class Resident {
public:
    // The counter saturates here: from then on a hit writes nothing. It is low, so that hot entries soon get there.
    static constexpr std::uint32_t k_max_uses = 255;

    Resident(const Key& the_key, std::uint64_t the_bytes, double the_cost) noexcept
        : key(the_key), bytes(the_bytes), cost(the_cost)
    {
    }

    const Key key;

private:
    // Beside the key: a hit reads the key and writes these, and all of it is in one cache line.
    std::atomic<std::uint32_t> m_uses{0};
    std::atomic<std::uint64_t> m_last_used{0};  // the tier's tick: higher is later

public:
    const std::uint64_t bytes;  // what it takes of the tier's budget
    const double cost;          // seconds that losing it from this tier costs
    // The policy's clock when the entry was last ranked. Persistent tiers keep it for the policy.
    mutable double aging = 0;

    std::uint32_t uses() const noexcept { return m_uses.load(std::memory_order_relaxed); }
    std::uint64_t last_used() const noexcept { return m_last_used.load(std::memory_order_relaxed); }

    // For tiers. Two threads that bump at once may count one use; a count is a rank, not an account.
    void bump() noexcept
    {
        const std::uint32_t uses = m_uses.load(std::memory_order_relaxed);
        if (uses < k_max_uses)
            m_uses.store(uses + 1, std::memory_order_relaxed);
    }
    void set_uses(std::uint32_t uses) noexcept { m_uses.store(uses, std::memory_order_relaxed); }
    void set_last_used(std::uint64_t tick) noexcept
    {
        if (m_last_used.load(std::memory_order_relaxed) != tick)
            m_last_used.store(tick, std::memory_order_relaxed);
    }
};

// Decides which entries are admitted, which move up, and which go first when room is needed.
// Thread safety: a tier calls inserted, removed, touched, victim and outweighs one at a time, under its own lock;
// admit and promote may be called by many threads at once.
// A policy of one's own needs three functions; the rest have defaults that suit most.
class Policy {
public:
    enum class Touches : std::uint8_t {
        counted,  // hits only bump Resident::uses(); the hit path takes no lock
        each,     // every hit calls touched(), in order, under the tier's lock
    };

    virtual ~Policy() = default;

    // The name of the tier that it decides for, told once, before anything else. (A tier may have several policies at a
    // time, and one that is asked only whether to promote.)
    virtual void set_tier(std::string_view /*name*/) {}

    virtual void inserted(const Resident& entry) = 0;
    virtual void removed(const Resident& entry) = 0;
    // The entry to evict next, or none. It stays in the tier until removed() says otherwise.
    virtual const Resident* victim() = 0;

    // Names the entries in the order in which they would go, and changes nothing, until `visit` returns false. Of those
    // named by then, what is removed before anything is inserted is evicted. False: it cannot tell, and where a tier
    // has to know, it takes those first that were used longest ago.
    virtual bool for_each_victim(const std::function<bool(const Resident&)>& /*visit*/) { return false; }

    virtual Touches touches() const { return Touches::counted; }
    virtual void touched(const Resident& /*entry*/) {}
    virtual bool admit(const Resident& /*entry*/) const { return true; }
    // Asked of a new entry for which others would have to go: so many of their bytes, and so many of them. False: they
    // are worth more than it, and it is not admitted.
    virtual bool outweighs(const Resident& /*entry*/, std::uint64_t /*bytes*/, std::uint64_t /*entries*/)
    {
        return true;
    }
    // Asked on each hit below the top tier: should the entry move one tier up?
    virtual bool promote(const Resident& entry) const { return entry.uses() >= 3; }

    // The policy's own clock, for tiers that rank entries across restarts. Most policies have none.
    virtual double clock() const { return 0; }
    virtual void set_clock(double /*clock*/) {}
};

using PolicyFactory = std::function<std::unique_ptr<Policy>()>;

struct PolicyOptions {
    std::uint32_t promote_after = 3;  // uses at which an entry moves one tier up
};

// Greedy-Dual-Size-Frequency with cost: the least (uses x cost / bytes), aged, goes first. A new entry that is worth
// less than what would have to go for it is not admitted, until that has aged. The default.
HEARTH_API PolicyFactory gdsf(PolicyOptions options = {});
// Least recently used. Every hit takes the tier's lock.
// Exactly so in memory, on a device, in a disk tier of up to 192 entries, and for gc() of any. A store in a larger disk
// tier evicts the least recently used of some three hundred entries taken at random (docs/decisions.md).
HEARTH_API PolicyFactory lru(PolicyOptions options = {});

}  // namespace hearth
