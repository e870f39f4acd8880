#include "hearth/cache.hpp"

#include "engine/parts.hpp"
#include "hearth/vram.hpp"

// (What the command does to a cache besides is in transport/ and upkeep/.)

namespace hearth {

Cache::Cache(std::unique_ptr<Parts> parts) : m_parts(std::move(parts)) {}
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::~Cache() = default;

Lookup Cache::find(const Key& key)
{
    return m_parts->stack.find(key);
}

Lookup Cache::peek(const Key& key)
{
    return m_parts->stack.peek(key, engine::Reach::everywhere);
}

Lookup Cache::look(const Key& key, const GetOptions& options, Servers& servers)
{
    engine::Reach asked = engine::Reach::everywhere;
    Lookup found = m_parts->flights.look(key, options, asked);
    servers = asked == engine::Reach::everywhere ? Servers::asked : Servers::not_asked;
    return found;
}

Result<Lookup> Cache::make_past(Maker make, const Metadata& metadata)
{
    return m_parts->flights.compile_past_the_cache(make, metadata);
}

Result<InsertReport> Cache::insert(const Key& key, Artifact artifact, const InsertOptions& options)
{
    return m_parts->stack.insert(key, std::move(artifact), options);
}

Result<InsertReport> Cache::insert(const Request& request, Artifact artifact, const InsertOptions& options)
{
    artifact.request = request.encoding();
    return insert(request.key(), std::move(artifact), options);
}

Result<Lookup> Cache::make_missing(const Key& key, const Bytes& request, Maker make, const GetOptions& options,
                                   Lookup found, Servers servers)
{
    return m_parts->flights.compile_missing({key, request, std::move(make), options}, std::move(found),
                                            servers == Servers::asked ? engine::Reach::everywhere
                                                                      : engine::Reach::this_machine);
}

std::future<Result<Lookup>> Cache::make_later(const Key& key, const Bytes& request, Maker make,
                                              const GetOptions& options)
{
    return m_parts->flights.compile_later({key, request, std::move(make), options});
}

bool Cache::races() const noexcept
{
    return m_parts->flights.races();
}

void Cache::run_later(std::function<void(const Status&)> work)
{
    m_parts->flights.run_later(std::move(work));
}

bool Cache::remove(const Key& key)
{
    return m_parts->stack.remove(key);
}

std::vector<std::string> Cache::where(const Key& key)
{
    return m_parts->stack.where(key);
}

MoveReport Cache::promote(const Key& key)
{
    return m_parts->stack.promote(key);
}

MoveReport Cache::demote(const Key& key)
{
    return m_parts->stack.demote(key);
}

std::vector<TierStatus> Cache::tiers()
{
    return m_parts->stack.status();
}

Status Cache::set_limits(std::string_view tier, const Limits& limits)
{
    return m_parts->stack.set_limits(tier, limits);
}

Status Cache::set_policy(std::string_view tier, const PolicyFactory& policy)
{
    return m_parts->stack.set_policy(tier, policy);
}

std::optional<EntryRow> Cache::info(const Key& key)
{
    return m_parts->stack.info(key);
}

void Cache::list(const std::function<bool(const EntryRow&)>& visit)
{
    m_parts->stack.list(visit);
}

std::vector<EntryRow> Cache::hottest(std::size_t count)
{
    return m_parts->stack.hottest(count);
}

void Cache::flush()
{
    m_parts->upkeep.flush();
}

void Cache::maintain()
{
    m_parts->upkeep.maintain({});
}

Stats Cache::stats(Scope scope)
{
    return m_parts->statistics.read(scope);
}

void Cache::reset_stats()
{
    m_parts->statistics.reset();
}

const Recording* Cache::recording() const noexcept
{
    return m_parts->options.recording ? &*m_parts->options.recording : nullptr;
}

Vram Cache::vram(std::string_view tier)
{
    const engine::Tiers& tiers = m_parts->tiers;
    for (std::size_t i = 0; i < tiers.size(); ++i)
        if (tiers[i].device && (tier.empty() || tiers[i].name == tier))
            return {*m_parts, i, tiers[i].device};
    return {};
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

}  // namespace hearth
