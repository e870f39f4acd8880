#pragma once

#include "base/fork.hpp"
#include "hearth/ledger.hpp"
#include "ledger/buffer_node.hpp"
#include "resident/resident_store.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace hearth::ledger {

// What a Ledger is made of: a store of nodes for each tier, and who is in motion between them.
// Thread safety: all of it. One lock for every change, which no callback of the program's is called under; none to
// lease. Every change of a store is made under that lock. A buffer is in one store, and in two at no time that the lock
// is free.
//   book.cpp        leases, and what the program asks for
//   book_moves.cpp  how room is made and buffers move
class Book {
public:
    explicit Book(Options options);

    Lease lease(const Key& key);
    std::optional<Holding> find(const Key& key) const;
    // What is added, replaced, removed or moved by hand must not be leased.
    Result<Added> add(const Key& key, const Buffer& buffer, const MakeFunction& make);
    Result<Holding> remove(const Key& key);
    Status move_to(const Key& key, std::size_t tier);
    Status set_limits(std::size_t tier, const Limits& limits);
    Limits limits(std::size_t tier) const;
    std::vector<TierUsage> usage() const;
    Stats stats() const;
    std::vector<Holding> all() const;

private:
    using Lock = std::unique_lock<base::ForkSafeMutex>;
    struct TierOf {
        TierOf(std::string the_name, const PolicyFactory& policy, const Limits& limits);

        const std::string name;
        resident::ResidentStore store;
        const std::unique_ptr<const Policy> promotion;  // is only asked whether to promote
    };
    struct Place {
        BufferNode* node = nullptr;
        std::size_t tier = 0;
    };
    enum class Evicting : std::uint8_t { no, yes };
    // One call of the program's, with all moves that come of it.
    struct Operation {
        Lock& lock;
        Evicting evicting = Evicting::yes;
        std::vector<Key> refused{};  // could not be moved: others are asked
        std::optional<Error> why{};  // the last of them could not
        std::size_t in_motion = 0;   // what this call has claimed
        std::uint64_t told = 0;      // callbacks so far: each time others had the lock
    };
    // Why there is no room.
    struct Refusal {
        enum class By : std::uint8_t {
            tier,     // too large for it, or its policy does not want it: a lower one may
            program,  // it does not move what would have to
            leases,
            others,  // what could leave is in motion: wait, and try again
        };
        By by = By::leases;
        Error error;
    };
    class Claim;
    class Coming;

    Status in_callback() const;
    Status known(std::size_t tier) const;
    Place find_locked(const Key& key) const;
    Place settled(Lock& lock, const Key& key);
    void wait_for_change(Lock& lock);
    void changed() noexcept;
    template <class Attempt>
    Status until_nobody_is_in_the_way(Lock& lock, Attempt&& attempt);
    Holding holding_of(const Place& place) const;
    Result<Holding> claim_by_hand(const Place& place, const char* what);
    Lease lease_promoted(Place place, base::HazardSlot* slot);
    std::optional<Refusal> try_add(Operation& operation, const Key& key, const Buffer& buffer, const MakeFunction& make,
                                   Added& added);

    Result<Handle> tell(Operation& operation, const MakeFunction& callback);
    std::optional<Refusal> tell_of_move(Operation& operation, const Place& place, std::optional<std::size_t> to,
                                        Handle& handle);
    std::optional<Refusal> make_room(Operation& operation, std::size_t tier, const Resident* entry);
    std::optional<Refusal> make_leave(Operation& operation, Claim& claim);
    std::optional<Refusal> transfer(Operation& operation, Claim& claim, std::size_t to, Place* arrived = nullptr);
    Refusal no_room(const Operation& operation, std::size_t tier, const Resident* entry) const;

    const MoveFunction m_move;
    std::vector<std::unique_ptr<TierOf>> m_tiers;
    mutable base::ForkSafeMutex m_mutex{base::LockLevel::tier_whole};  // guards the rest, and changes of the stores
    std::condition_variable_any m_changed;
    std::uint64_t m_changes = 0;       // ends of motions so far
    std::size_t m_in_motion = 0;       // buffers, and keys that are on their way in
    std::unordered_set<Key> m_coming;  // keys that are on their way in
    Stats m_stats;
    // In a child nobody is left of those who waited, and the destructor would wait for them.
    const base::ForkGuard m_fork{[this] { std::construct_at(&m_changed); }};
};

// A buffer in motion. It is put back at the end, unless it has left. Everything here needs the book's lock.
class Book::Claim {
public:
    Claim(Book& book, Operation& operation, const Place& place) noexcept
        : m_book(&book), m_operation(&operation), m_place(place), m_told(operation.told)
    {
        ++book.m_in_motion;
        ++operation.in_motion;
    }
    Claim(Claim&& other) noexcept
        : m_book(std::exchange(other.m_book, nullptr)), m_operation(other.m_operation), m_place(other.m_place),
          m_told(other.m_told)
    {
    }
    Claim& operator=(Claim&&) = delete;
    ~Claim() { put_back(); }

    const Place& place() const noexcept { return m_place; }
    void put_back() noexcept;
    void take_out();
    // Another node has taken its place in its store.
    void replaced() noexcept
    {
        m_book->changed();
        end();
    }

private:
    void end() noexcept;

    Book* m_book;
    Operation* m_operation;
    Place m_place;
    std::uint64_t m_told;
};

// A key on its way in: nobody else adds it.
class Book::Coming {
public:
    Coming(Book& book, Operation& operation, const Key& key)
        : m_book(book), m_operation(operation), m_key(key), m_told(operation.told)
    {
        book.m_coming.insert(key);
        ++book.m_in_motion;
        ++operation.in_motion;
    }
    ~Coming();
    Coming(const Coming&) = delete;
    Coming& operator=(const Coming&) = delete;

private:
    Book& m_book;
    Operation& m_operation;
    const Key m_key;
    const std::uint64_t m_told;
};

}  // namespace hearth::ledger
