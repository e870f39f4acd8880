#pragma once

#include "base/hazard.hpp"
#include "hearth/artifact.hpp"
#include "hearth/policy.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

// A hash table that is read without a lock and written under one.
//
// A slot is (tag, node): free (tag 0, node null) or full. Readers walk from the key's place until a free slot.
// Transitions, all by the one writer:
//   insert   free -> full: tag first, then node; a reader that sees the tag alone passes on, a miss before the insert
//   replace  full -> full: the node is exchanged; a reader gets the old one or the new one
//   remove   the entries behind it move up to close the gap, between two bumps of m_version (odd while they move)
//   grow     a table twice as large is filled and published; old ones are kept until the end, so a reader in one is
//            never lost (together they are smaller than the current one)
// A reader that finds its tag announces the node as a hazard and looks again that the slot still holds it and that the
// table is still the current one; only then is the node safe to read. A reader that finds nothing may have looked away
// while its entry moved: if m_version changed meanwhile, or was odd, it does not know, says so, and asks under the lock.

namespace hearth::tiers {

// One entry in memory. Immutable but for the counters in `resident`.
struct Node final : base::Reclaimable {
    Node(const Key& key, std::shared_ptr<const Artifact> the_artifact, double cost)
        : resident(key, the_artifact->size(), cost), artifact(std::move(the_artifact))
    {
    }

    Resident resident;
    const std::shared_ptr<const Artifact> artifact;
};

// Thread safety: find() any number of threads; the rest one at a time (the tier's lock), beside any number of finds.
// Ownership: nodes belong to the table from put() until take(), which hands them back.
// Cost: find() is one probe in the common case, no lock, no allocation, no write but to the thread's own hazard slot.
class ResidentTable {
public:
    // A node, with the slot that protects it (release it when done), or null and no slot. `unsure`: entries moved while
    // this reader looked; ask again under the writer's lock.
    struct Protected {
        Node* node = nullptr;
        base::HazardSlot* slot = nullptr;
        bool unsure = false;
    };

    ResidentTable();
    ~ResidentTable();
    ResidentTable(const ResidentTable&) = delete;
    ResidentTable& operator=(const ResidentTable&) = delete;

    Protected find(const Key& key) const noexcept;

    // For the writer, and for others under its lock.
    Node* peek(const Key& key) const noexcept;
    Node* put(Node* node);                // the node it replaced, or null
    Node* take(const Key& key) noexcept;  // the node it removed, or null
    std::size_t size() const noexcept { return m_size; }
    void for_each(const std::function<void(Node&)>& visit) const;

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
    // Tag and place come from different bytes of the key, so that a tag seen at a place tells 128 bits apart.
    static std::uint64_t tag_of(const Key& key) noexcept;
    static std::uint64_t place_of(const Key& key) noexcept;
    static constexpr std::size_t k_nowhere = ~std::size_t{0};
    std::size_t locate(const Key& key) const noexcept;
    static void place(Table& table, Node* node) noexcept;
    void grow();

    std::atomic<Table*> m_current;
    std::atomic<std::uint64_t> m_version{0};  // odd while entries move
    std::vector<std::unique_ptr<Table>> m_tables;  // all that were ever current; the last one is
    std::size_t m_size = 0;
};

}  // namespace hearth::tiers
