#pragma once

#include "base/hazard.hpp"
#include "hearth/artifact.hpp"
#include "hearth/policy.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

// A hash table that is read without a lock and written under one.
//
// A slot is (tag, node): free (tag 0, node null) or full. Readers walk from the key's place until a free slot.
// Transitions, all by the one writer:
//   insert   free -> full: tag first, then node; a reader that sees only the tag walks on: it misses, as before insert
//   replace  full -> full: the node is exchanged; a reader gets the old one or the new one
//   remove   the entries behind it move up to close the gap, between two bumps of m_version (odd while they move)
//   grow     a table twice as large is filled and published; old ones are kept until the end, so a reader in one is
//            never lost (together they are smaller than the current one)
// A reader that finds its tag announces the node as a hazard, then checks that the slot still holds the node and that
// the table is still the current one; only then is the node safe to read. A reader that finds nothing may have missed
// an entry that moved. It looks a second time. If m_version changed meanwhile, or was odd, the result is `unsure`, and
// the caller asks again under the lock.

namespace hearth::resident {

// One entry, as far as the table and its store are concerned; each tier adds what it keeps. Immutable except for the
// counters in `resident`. All that a hit needs is here and directly behind it, in two neighbouring cache lines.
struct alignas(128) Node : base::Reclaimable {
    Node(const Key& key, std::uint64_t bytes, const Artifact& artifact)
        : resident(key, bytes, std::chrono::duration<double>(artifact.cost).count()), expires(artifact.expires)
    {
    }

    // An entry that is no artifact: its bytes are somebody else's.
    Node(const Key& key, std::uint64_t bytes, double cost) : resident(key, bytes, cost), expires() {}

    // Aligned here, in what malloc() gives: what it has for aligned objects is many times slower, at each end.
    static void* operator new(std::size_t bytes);
    static void operator delete(void* node) noexcept;

    // The artifact; its sections may lie elsewhere. Not for hits: reading it touches one more place in memory. Empty
    // for an entry that is none.
    virtual const Artifact& about() const noexcept;
    // What it takes of the budget beside the bytes of `resident`.
    virtual std::uint64_t beside() const noexcept { return 0; }

    Resident resident;
    const WallTime expires;
};

// Thread safety: any number of threads may call find(); the rest needs the tier's lock, beside any number of finds.
// Ownership: nodes belong to the table from put() until take(), which hands them back.
// Cost: find() is one probe in the common case, no lock, no allocation, no write but to the thread's own hazard slot.
class ResidentTable {
public:
    // A node, with the slot that protects it (release it when done), or null and no slot.
    struct Held {
        Node* node = nullptr;
        base::HazardSlot* slot = nullptr;
    };
    // `unsure`: entries moved while this reader looked; ask again under the writer's lock.
    struct Protected : Held {
        bool unsure = false;
    };

    ResidentTable();
    ~ResidentTable();
    ResidentTable(const ResidentTable&) = delete;
    ResidentTable& operator=(const ResidentTable&) = delete;

    Protected find(const Key& key) const noexcept;
    // One look, as the hot path takes it. If it finds nothing, find_again() has to tell whether there is nothing.
    Held find_once(const Key& key) const noexcept;
    Protected find_again(const Key& key) const noexcept;
    // For many finds in a row: the caller's slot protects the node until the slot is used for the next find. A miss is
    // not looked into further: call find() for that.
    Node* find_with(base::HazardSlot* slot, const Key& key) const noexcept { return probe(key, slot).node; }
    // Brings what many finds will need nearer: first each one's place in the table, then, some finds later, the node
    // there. The table is looked up once: one that has grown since is still there, and good enough for a hint.
    class LookAhead;

    // For the writer, and for others that hold its lock.
    Node* peek(const Key& key) const noexcept;
    Node* put(Node* node);                // the node it replaced, or null
    Node* take(const Key& key) noexcept;  // the node it removed, or null
    std::size_t size() const noexcept { return m_size; }
    void for_each(const std::function<void(Node&)>& visit) const;
    // Visits what is in `count` slots from `slot` on. Returns the slot to go on with, or 0 when all were visited. If
    // entries change between two calls, some may be visited twice or not at all.
    std::size_t for_some(std::size_t slot, std::size_t count, const std::function<void(Node&)>& visit) const;

private:
    struct Slot {
        std::atomic<std::uint64_t> tag{0};
        std::atomic<Node*> node{nullptr};
    };
    struct Table {
        explicit Table(std::size_t capacity) : mask(capacity - 1), slots(std::make_unique<Slot[]>(capacity)) {}
        std::size_t mask;
        std::unique_ptr<Slot[]> slots;
    };
    // Tag and place come from different bytes of the key, so that a tag at a place distinguishes 128 bits.
    static std::uint64_t tag_of(const Key& key) noexcept { return key.word(0) == 0 ? 1 : key.word(0); }
    static std::uint64_t place_of(const Key& key) noexcept { return key.word(1); }
    Held probe(const Key& key, base::HazardSlot* given = nullptr) const noexcept;
    static constexpr std::size_t k_nowhere = ~std::size_t{0};
    std::size_t locate(const Key& key) const noexcept;
    static void place(Table& table, Node* node) noexcept;
    void grow();

    friend class LookAhead;

    std::atomic<Table*> m_current;
    std::atomic<std::uint64_t> m_version{0};       // odd while entries move
    std::vector<std::unique_ptr<Table>> m_tables;  // all that were ever current; the last one is
    std::size_t m_size = 0;
};

class ResidentTable::LookAhead {
public:
    explicit LookAhead(const ResidentTable& table) noexcept : m_table(*table.m_current.load(std::memory_order_acquire))
    {
    }
    void place(const Key& key) const noexcept { __builtin_prefetch(&slot(key)); }
    void node(const Key& key) const noexcept
    {
        const auto* node = reinterpret_cast<const char*>(slot(key).node.load(std::memory_order_relaxed));
        __builtin_prefetch(node);
        __builtin_prefetch(node + (node == nullptr ? 0 : 64));  // nothing may be added to a null pointer
    }

private:
    const Slot& slot(const Key& key) const noexcept { return m_table.slots[place_of(key) & m_table.mask]; }
    const Table& m_table;
};

// Here rather than in the .cpp, because every hit runs them.

[[gnu::always_inline]] inline ResidentTable::Held ResidentTable::probe(const Key& key,
                                                                       base::HazardSlot* given) const noexcept
{
    const std::uint64_t tag = tag_of(key);
    const std::uint64_t place = place_of(key);
    base::HazardSlot* hazard = given;
    Table* table = m_current.load(std::memory_order_acquire);
    for (std::size_t i = place & table->mask;;) {
        Slot& slot = table->slots[i];
        const std::uint64_t seen = slot.tag.load(std::memory_order_acquire);
        if (seen == 0)
            break;
        Node* node = seen == tag ? slot.node.load(std::memory_order_acquire) : nullptr;
        if (!node) {
            i = (i + 1) & table->mask;
            continue;
        }
        if (!hazard)
            hazard = base::acquire_slot();
        base::announce(hazard, node);
        // The second look, after the barrier in announce(): see base/hazard.hpp.
        if (Table* current = m_current.load(std::memory_order_relaxed); current != table) {
            current = m_current.load(std::memory_order_acquire);
            table = current;
            i = place & table->mask;
            continue;
        }
        if (slot.node.load(std::memory_order_relaxed) != node)
            continue;  // replaced or removed meanwhile: look at the same slot again
        if (node->resident.key == key)
            return {node, hazard};
        i = (i + 1) & table->mask;
    }
    if (hazard && !given)
        base::release_slot(hazard);
    return {};
}

[[gnu::always_inline]] inline ResidentTable::Held ResidentTable::find_once(const Key& key) const noexcept
{
    return probe(key);
}

inline ResidentTable::Protected ResidentTable::find(const Key& key) const noexcept
{
    const Held found = probe(key);
    return found.node ? Protected{found, false} : find_again(key);
}

}  // namespace hearth::resident
