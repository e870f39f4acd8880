#include "hearth/cache.hpp"

#include "engine/parts.hpp"
#include "hearth/vram.hpp"

namespace hearth {

Cache::Cache(std::unique_ptr<Parts> parts) : m_parts(std::move(parts)) {}
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::~Cache() = default;

Lookup Cache::find(const Key& key)
{
    return m_parts->stack.find(key);
}

Lookup Cache::peek(const Key& key, EntryKind kind)
{
    return m_parts->stack.peek(key,
                               kind == EntryKind::derived ? engine::Reach::this_machine : engine::Reach::everywhere);
}

Lookup Cache::look(const Key& key, const GetOptions& options, Servers& servers)
{
    engine::Reach asked = engine::Reach::everywhere;
    Lookup found = m_parts->flights.look(key, options, asked);
    servers = asked == engine::Reach::everywhere ? Servers::asked : Servers::not_asked;
    return found;
}

Result<Lookup> Cache::compile_past(const CompileFunction& compile, const Metadata& metadata)
{
    return m_parts->flights.compile_past_the_cache(compile, metadata);
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

Result<Lookup> Cache::compile_missing(const Key& key, const Bytes& request, CompileFunction compile,
                                      const GetOptions& options, Lookup found, Servers servers)
{
    return m_parts->flights.compile_missing({key, request, std::move(compile), options}, std::move(found),
                                            servers == Servers::asked ? engine::Reach::everywhere
                                                                      : engine::Reach::this_machine);
}

std::future<Result<Lookup>> Cache::compile_later(const Key& key, const Bytes& request, CompileFunction compile,
                                                 const GetOptions& options)
{
    return m_parts->flights.compile_later({key, request, std::move(compile), options});
}

bool Cache::has_tiers() const noexcept
{
    return m_parts->tiers.size() != 0;
}

bool Cache::stable_paths() const noexcept
{
    return m_parts->options.stable_paths == Switch::on;
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

void Cache::flush()
{
    m_parts->upkeep.flush();
}

Stats Cache::stats(Scope scope)
{
    return m_parts->statistics.read(scope);
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

}  // namespace hearth
