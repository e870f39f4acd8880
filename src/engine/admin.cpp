#include "hearth/admin.hpp"

#include "engine/parts.hpp"
#include "hearth/history.hpp"

// (Carrying entries elsewhere is in transport/, putting the cache in order in upkeep/.)

namespace hearth {

std::vector<std::string> admin::where(Cache& cache, const Key& key)
{
    return cache.parts().stack.where(key);
}

MoveReport admin::promote(Cache& cache, const Key& key)
{
    return cache.parts().stack.promote(key);
}

MoveReport admin::demote(Cache& cache, const Key& key)
{
    return cache.parts().stack.demote(key);
}

std::vector<TierStatus> admin::tiers(Cache& cache)
{
    return cache.parts().stack.status();
}

Status admin::set_limits(Cache& cache, std::string_view tier, const Limits& limits)
{
    return cache.parts().stack.set_limits(tier, limits);
}

Status admin::set_policy(Cache& cache, std::string_view tier, const PolicyFactory& policy)
{
    return cache.parts().stack.set_policy(tier, policy);
}

std::optional<EntryRow> admin::info(Cache& cache, const Key& key)
{
    return cache.parts().stack.info(key);
}

void admin::list(Cache& cache, const std::function<bool(const EntryRow&)>& visit)
{
    cache.parts().stack.list(visit);
}

std::vector<EntryRow> admin::hottest(Cache& cache, std::size_t count)
{
    return cache.parts().stack.hottest(count);
}

std::vector<EntryRow> admin::recent(Cache& cache, std::size_t count)
{
    return cache.parts().stack.recent(count);
}

void admin::maintain(Cache& cache)
{
    cache.parts().upkeep.maintain({});
}

std::vector<Period> admin::history(Cache& cache)
{
    return cache.parts().statistics.history();
}

std::vector<Event> admin::events(Cache& cache)
{
    return cache.parts().statistics.events();
}

std::optional<WallTime> admin::longest_unused(Cache& cache, std::string_view tier)
{
    return cache.parts().stack.longest_unused(tier);
}

void admin::reset_stats(Cache& cache)
{
    cache.parts().statistics.reset();
}

std::string_view to_string(MoveReport::Outcome outcome)
{
    switch (outcome) {
    case MoveReport::Outcome::moved:
        return "moved";
    case MoveReport::Outcome::not_found:
        return "not found";
    case MoveReport::Outcome::already_top:
        return "already in the fastest tier";
    case MoveReport::Outcome::already_bottom:
        return "already in the slowest tier";
    case MoveReport::Outcome::does_not_fit:
        return "does not fit";
    case MoveReport::Outcome::refused:
        return "refused";
    }
    return "unknown";
}

std::string_view to_string(GcCandidate::Why why)
{
    switch (why) {
    case GcCandidate::Why::expired:
        return "expired";
    case GcCandidate::Why::unused:
        return "unused";
    case GcCandidate::Why::over_limit:
        return "over the limit";
    }
    return "unknown";
}

}  // namespace hearth
