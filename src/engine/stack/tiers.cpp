#include "engine/stack/tiers.hpp"

#include "base/error.hpp"
#include "engine/stack/guarded_tier.hpp"
#include "policy/guarded_policy.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::engine {

namespace {

Result<std::unique_ptr<Tier>> open(const TierSpec& spec, const TierContext& context,
                                   std::function<bool(const Key&)> kept_below)
try {
    TierContext its_own = context;
    its_own.kept_below = std::move(kept_below);
    its_own.policy = policy::in_tier(context.policy, spec.name);
    return spec.open(its_own);
} catch (...) {
    return error(Code::unavailable, "Tier \"{}\" could not be opened: {}", spec.name, what_was_thrown());
}

}  // namespace

Tiers::Tiers(const std::vector<TierSpec>& specs, const TierContext& context)
{
    const auto warn = [&](const std::string& message) {
        if (context.log)
            context.log(LogLevel::warning, message);
    };
    for (const TierSpec& spec : specs) {
        if (m_places.size() == k_max_tiers) {
            warn(fmt::format("Tier \"{}\" is left out: a cache has at most {} tiers.", spec.name, k_max_tiers));
            break;
        }
        Result<std::unique_ptr<Tier>> opened =
            open(spec, context, [this, place = m_places.size()](const Key& key) { return kept_below(place, key); });
        if (!opened) {
            // The program goes on with the tiers that are there, as if this one had not been asked for.
            warn(opened.error().message);
            continue;
        }
        Place& place = m_places.emplace_back();
        place.bare = opened->get();
        place.remote = dynamic_cast<RemoteTier*>(place.bare);
        place.device = dynamic_cast<DeviceTier*>(place.bare);
        place.tier = std::make_unique<GuardedTier>(*std::move(opened), spec.name, context.log);
        place.name = place->name();
        place.traits = place->traits();
        place.takes_victims = place.traits.writable && !place.traits.remote;
        place.keeps_here = place.traits.persistent && !place.traits.remote;
        place.keeps_its_copy = place.traits.persistent || place.traits.in_place;
    }
    for (std::size_t i = m_places.size(); i-- > 0;) {
        m_places[i].above = above(i);
        if (i + 1 < m_places.size() && (m_places[i + 1].takes_victims || m_places[i + 1].victims == Victims::keep))
            m_places[i].victims = Victims::keep;
        if (m_places[i].keeps_here)
            m_keeper = m_places[i].tier.get();
        if (m_places[i].keeps_here && m_places[i].traits.writable)
            m_writable_keeper = m_places[i].tier.get();
    }
    m_first_remote = m_places.size();
    while (m_first_remote != 0 && m_places[m_first_remote - 1].traits.remote)
        --m_first_remote;
}

std::size_t Tiers::named(std::string_view name) const
{
    const auto found = std::find_if(begin(), end(), [&](const Place& place) { return place.name == name; });
    return found == end() ? k_none : static_cast<std::size_t>(found - begin());
}

// As Stack::demote_victim() goes: the first that takes victims decides.
bool Tiers::kept_below(std::size_t place, const Key& key) const
{
    for (std::size_t i = place + 1; i < m_places.size(); ++i)
        if (m_places[i].takes_victims)
            return m_places[i]->contains(key);
    return false;
}

// Skips tiers that cannot be written. A bundle is on this machine's disk already, so its entries skip persistent tiers
// too.
std::size_t Tiers::above(std::size_t place) const
{
    const bool past_disks = m_places[place].traits.fixed;
    for (std::size_t to = place; to-- > 0;)
        if (const TierTraits& traits = m_places[to].traits; traits.writable && !(past_disks && traits.persistent))
            return to;
    return k_none;
}

}  // namespace hearth::engine
