#pragma once

#include "engine/stats/counters.hpp"
#include "hearth/device_tier.hpp"
#include "hearth/remote.hpp"
#include "hearth/tier.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::engine {

inline constexpr std::size_t k_none = ~std::size_t{0};

// One tier of a cache, and what follows from its traits and its place. The tier is asked once, when it is opened.
struct Place {
    std::unique_ptr<Tier> tier;  // a GuardedTier
    Tier* bare = nullptr;        // the tier itself, which may throw
    std::string name;            // lookups point to it
    TierTraits traits;
    RemoteTier* remote = nullptr;        // null: it is on this machine
    DeviceTier* device = nullptr;        // null: it is not in device memory
    bool takes_victims = false;          // that faster tiers evict; a remote got every entry when it was compiled
    bool keeps_here = false;             // it is on this machine, and outlives the process
    bool keeps_its_copy = false;         // of an entry that moves up
    std::size_t above = k_none;          // the tier that its entries move up to
    Victims victims = Victims::discard;  // keep: a slower tier may take them

    Tier* operator->() const { return tier.get(); }
};

// The tiers of a cache that could be opened, fastest first. They stay the same until it is closed.
class Tiers {
public:
    Tiers(const std::vector<TierSpec>& specs, const TierContext& context);
    Tiers(const Tiers&) = delete;
    Tiers& operator=(const Tiers&) = delete;

    std::size_t size() const { return m_places.size(); }
    const Place& operator[](std::size_t place) const { return m_places[place]; }
    auto begin() const { return m_places.begin(); }
    auto end() const { return m_places.end(); }

    std::size_t named(std::string_view name) const;  // or k_none
    // The first persistent tier of this machine: it keeps the notes. And the first of those that can be written: uses
    // are credited there, and flights are held there.
    Tier* keeper() const { return m_keeper; }
    Tier* writable_keeper() const { return m_writable_keeper; }
    // From here on there are only remotes.
    std::size_t first_remote() const { return m_first_remote; }

private:
    std::size_t above(std::size_t place) const;
    bool kept_below(std::size_t place, const Key& key) const;

    std::vector<Place> m_places;
    Tier* m_keeper = nullptr;
    Tier* m_writable_keeper = nullptr;
    std::size_t m_first_remote = 0;
};

}  // namespace hearth::engine
