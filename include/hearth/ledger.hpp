#pragma once

#include "hearth/api.hpp"
#include "hearth/key.hpp"
#include "hearth/log.hpp"
#include "hearth/policy.hpp"
#include "hearth/result.hpp"
#include "hearth/tier.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// An account of buffers that the program holds: how large they are, in which of its memories they lie, which of them
// are to move and which to go. No byte of theirs is touched here (docs/ledger.md).

namespace hearth {

namespace base {
struct HazardSlot;
}

namespace ledger {

// What the program knows a buffer by where it lies: an address, a device pointer, an index.
using Handle = std::uint64_t;

struct Tier {
    std::string name;
    std::uint64_t max_bytes = 0;    // 0: no limit
    std::uint64_t max_entries = 0;  // 0: no limit
    PolicyFactory policy{};         // none: gdsf()
};

// What the program is to do now: copy the buffer from one tier to another and free it where it was, or free it.
struct Move {
    Key key;
    std::uint64_t bytes = 0;
    Handle handle = 0;
    std::size_t from = 0;           // a tier's place in Options::tiers
    std::optional<std::size_t> to;  // none: it is evicted, and only to be freed

    bool evicts() const noexcept { return !to; }
};

// Returns the handle of the buffer in its new tier. (After an eviction that is not looked at.) With an Error the buffer
// stays as it is, where it is; what is thrown counts as one.
// It is called without a lock. While it runs the buffer counts in both tiers, as it may well lie in both. It may use
// the ledger that calls it for all that changes nothing, and take and drop leases: that of a buffer in motion is empty,
// with moving() true. What would change that ledger is refused with an Error. It must not wait for another thread that
// uses the ledger, since that one may be waiting for this move to end.
using MoveFunction = std::function<Result<Handle>(const Move&)>;
// Makes a buffer, once there is room for it. For what it may do see MoveFunction.
using MakeFunction = std::function<Result<Handle>()>;

struct Options {
    std::vector<Tier> tiers;  // fastest first
    MoveFunction move;
    LogSink log{};  // is told when a policy throws, and must not call the ledger
};

struct Buffer {
    std::uint64_t bytes = 0;
    Handle handle = 0;
    double cost = 0;  // seconds that it takes to make it anew; 0: not known
    std::size_t tier = 0;
};

// A buffer as the ledger knows it.
struct Holding {
    Key key;
    std::uint64_t bytes = 0;
    Handle handle = 0;
    std::size_t tier = 0;
    std::uint32_t uses = 0;  // since it came into this tier
    bool leased = false;
    bool moving = false;  // then this is what it was before
};

struct Added {
    Handle handle = 0;
    // What was under this key before. It has left the ledger, and is the program's to free.
    std::optional<Holding> replaced;
};

struct Stats {
    std::uint64_t promotions = 0;
    std::uint64_t demotions = 0;
    std::uint64_t evictions = 0;
    std::uint64_t refused = 0;  // moves that the program answered with an Error
};

// A buffer that stays where it is while this is held: it is neither moved, evicted, replaced nor removed.
// Thread safety: one thread at a time; it may be moved to another thread.
// Ownership: move-only. It may outlive the ledger, which then has no say any more.
// Cost: dropping it is one atomic subtraction; no lock.
class HEARTH_API Lease {
public:
    Lease() = default;
    // For the ledger: the slot protects the object that `count` is a part of.
    Lease(base::HazardSlot* slot, std::atomic<std::uint32_t>* count, Handle handle, std::uint64_t bytes,
          std::size_t tier) noexcept
        : m_slot(slot), m_count(count), m_handle(handle), m_bytes(bytes), m_tier(tier)
    {
    }
    static Lease of_moving() noexcept
    {
        Lease none;
        none.m_moving = true;
        return none;
    }
    Lease(Lease&& other) noexcept
        : m_slot(std::exchange(other.m_slot, nullptr)), m_count(std::exchange(other.m_count, nullptr)),
          m_handle(other.m_handle), m_bytes(other.m_bytes), m_tier(other.m_tier), m_moving(other.m_moving)
    {
    }
    Lease& operator=(Lease&& other) noexcept
    {
        Lease held(std::move(other));  // so that what this one held is let go now
        std::swap(m_slot, held.m_slot);
        std::swap(m_count, held.m_count);
        std::swap(m_handle, held.m_handle);
        std::swap(m_bytes, held.m_bytes);
        std::swap(m_tier, held.m_tier);
        std::swap(m_moving, held.m_moving);
        return *this;
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease()
    {
        if (m_count)
            release();
    }

    explicit operator bool() const noexcept { return m_count != nullptr; }
    Handle handle() const noexcept { return m_handle; }
    void* pointer() const noexcept { return reinterpret_cast<void*>(m_handle); }  // NOLINT(performance-no-int-to-ptr)
    std::uint64_t bytes() const noexcept { return m_bytes; }
    std::size_t tier() const noexcept { return m_tier; }
    // It is empty because the buffer is in motion: see MoveFunction.
    bool moving() const noexcept { return m_moving; }

private:
    void release() noexcept;

    base::HazardSlot* m_slot = nullptr;
    std::atomic<std::uint32_t>* m_count = nullptr;
    Handle m_handle = 0;
    std::uint64_t m_bytes = 0;
    std::size_t m_tier = 0;
    bool m_moving = false;
};

class Book;

}  // namespace ledger

// Keeps buffers of the program's within the budgets of its memories, and holds none of them. Where a tier has no room,
// what its policy says goes first is demoted to the next tier below that takes it, and evicted if none does. What is
// used often moves one tier up. Each move is the program's to make, and counts once the program has made it.
//   auto ledger = Ledger::open({.tiers = {{"device", 8_GiB}, {"host"}}, .move = copy_and_free}).value();
// Thread safety: all of it. Threads do not wait for each other's moves, but for the buffer that is in motion: lease(),
// add(), remove() and move_to() of it wait until it has arrived, and add() until others are done that were quicker to
// the room that there is. Ownership: buffers and handles are the program's at all times. The end of the ledger frees
// nothing: for_each() tells what there is to free. A forked child must not use it. Failure: nothing throws. With an
// Error nothing has changed, except that moves that were made by then stay made. A victim that the program refuses to
// move stays, and others are asked, up to eight; then the error says why. Limits hold at all times: a buffer counts
// from before it is made until after it was moved away, in each tier that it is in. What add() replaces, and what
// remove() takes out, no longer counts and is the program's to free: where both do not fit, remove and free it before
// add(). Cost: lease() is one probe for each tier
// and one atomic addition, without a lock, unless the policy wants every touch. A change is O(1) under one lock, and
// O(1) for each victim and each leased buffer that is passed over.
class HEARTH_API Ledger {
public:
    static Result<Ledger> open(ledger::Options options);
    Ledger(Ledger&& other) noexcept;
    Ledger& operator=(Ledger&& other) noexcept;
    ~Ledger();

    // Makes room, then counts the buffer in. What is leased under this key is not replaced. Code::too_large: larger
    // than the tier, where nothing was disturbed. Code::no_space: the policy does not want it, or too little can leave.
    Result<ledger::Added> add(const Key& key, const ledger::Buffer& buffer);
    // The same for a buffer that is made once there is room for it: so memory never holds more than the limit says.
    Result<ledger::Added> add(const Key& key, const ledger::Buffer& buffer, const ledger::MakeFunction& make);

    // Counts as a use. Empty if there is none. First moves the buffer one tier up, if its policy says so, no other
    // lease is held, and room can be made without evicting anything: a lease never costs a buffer.
    ledger::Lease lease(const Key& key);
    // Where it is, without a use.
    std::optional<ledger::Holding> find(const Key& key) const;

    // Takes it out of the account, and tells what it was: the program frees it. Not what is leased.
    Result<ledger::Holding> remove(const Key& key);
    // Moves it to that tier now, and makes room there as add() does.
    Status move_to(const Key& key, std::size_t tier);

    // Takes effect at once: what no longer fits is moved. If not enough can leave, the error says so, and nothing comes
    // in before there is room. There is no limit on age.
    Status set_limits(std::size_t tier, const Limits& limits);
    Limits limits(std::size_t tier) const;
    // By tier.
    std::vector<TierUsage> usage() const;
    ledger::Stats stats() const;
    // Visits every buffer, in no order, until the visitor returns false. No lock is held over it.
    void for_each(const std::function<bool(const ledger::Holding&)>& visit) const;

private:
    explicit Ledger(std::unique_ptr<ledger::Book> book) noexcept;

    std::unique_ptr<ledger::Book> m_book;
};

}  // namespace hearth
