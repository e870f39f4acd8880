#pragma once

#include "base/fork.hpp"
#include "engine/stack/tiers.hpp"

#include <cstdint>
#include <unordered_map>

namespace hearth::engine {

// An entry that is used in memory looks idle to the tiers below, and would be evicted there first. So the disk is told
// of uses in memory now and then. Such uses must not be counted twice.
// Thread safety: all of it.
class Credits {
public:
    Credits(const Tiers& tiers, const Clock& clock) : m_tiers(tiers), m_clock(clock) {}

    void tell();
    void forget();
    // One use was counted in so many volatile tiers, and in the disk as well or not.
    void used_once(const Key& key, std::uint32_t in_volatile, bool on_disk);
    // How many of these `uses` in volatile tiers the disk has not been told of.
    std::uint32_t not_told(const Key& key, std::uint32_t uses);

private:
    const Tiers& m_tiers;
    const Clock& m_clock;
    base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::unordered_map<Key, std::uint32_t> m_told;
    WallTime m_told_at{};
};

}  // namespace hearth::engine
