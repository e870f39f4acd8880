#pragma once

#include "hearth/policy.hpp"

#include <list>
#include <unordered_map>

namespace hearth::bench {

// S3-FIFO (Yang et al., SOSP 2023), by bytes: a rival to measure against. A small queue of a tenth of the room sifts
// newcomers; those used twice there, or come back soon after they left, enter the main queue, a FIFO that spares an
// entry once for each use, three at most.
// Thread safety: as Policy says. Ownership: none. Cost: O(1) amortised per operation.
class S3FifoPolicy final : public Policy {
public:
    explicit S3FifoPolicy(std::uint64_t capacity) : m_capacity(capacity) {}

    void inserted(const Resident& entry) override;
    void removed(const Resident& entry) override;
    const Resident* victim() override;
    Touches touches() const override { return Touches::each; }
    void touched(const Resident& entry) override;

private:
    struct Place {
        const Resident* entry = nullptr;
        std::uint32_t uses = 0;  // since it came into its queue
        bool is_main = false;
    };
    struct Ghost {
        Key key;
        std::uint64_t bytes = 0;
    };
    using Queue = std::list<Place>;

    void remember(const Resident& entry);

    const std::uint64_t m_capacity;
    Queue m_small;  // oldest first, as are the others
    Queue m_main;
    std::list<Ghost> m_ghosts;
    std::uint64_t m_small_bytes = 0;
    std::uint64_t m_ghost_bytes = 0;
    std::unordered_map<const Resident*, Queue::iterator> m_places;
    std::unordered_map<Key, std::list<Ghost>::iterator> m_ghost_places;
    const Resident* m_offered = nullptr;
};

}  // namespace hearth::bench
