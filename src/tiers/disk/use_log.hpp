#pragma once

#include "base/fork.hpp"
#include "hearth/key.hpp"

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace hearth::tiers {

// Hits of this process that are not yet written to the index, so that a hit changes no file.
// Thread safety: all of it. Cost of note(): one short lock.
class UseLog {
public:
    struct Use {
        Key key;
        std::uint32_t uses = 0;
        std::uint64_t when_ns = 0;  // wall time of the last one
    };

    // Returns how often this process has had a hit on this key in this tier, this time included.
    std::uint32_t note(const Key& key, std::uint64_t when_ns, std::uint32_t uses = 1);
    // Uses of this key not yet taken.
    Use pending(const Key& key) const;
    // Takes up to `most` uses for the index. They then count as written; give them back if they could not be written.
    std::vector<Use> take(std::size_t most);
    void give_back(const std::vector<Use>& uses);
    void forget(const Key& key);
    void clear();
    std::size_t size() const;

private:
    struct Counts {
        std::uint32_t pending = 0;
        std::uint32_t total = 0;
        std::uint64_t when_ns = 0;
    };
    // Keys whose uses are written stay here for their totals until there are this many; then they are forgotten.
    static constexpr std::size_t k_remembered = 65536;

    mutable base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};
    std::unordered_map<Key, Counts> m_counts;
    std::vector<Key> m_pending;  // keys with pending > 0
};

}  // namespace hearth::tiers
