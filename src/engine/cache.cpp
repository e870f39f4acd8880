#include "hearth/cache.hpp"

#include "engine/engine.hpp"

namespace hearth {

Cache::Cache(std::unique_ptr<engine::Engine> engine) : m_engine(std::move(engine)) {}
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::~Cache() = default;

Cache engine::Engine::as_cache(std::unique_ptr<Engine> engine)
{
    return Cache(std::move(engine));
}

engine::Engine& engine::Engine::of(Cache& cache)
{
    return *cache.m_engine;
}

Lookup Cache::find(const Key& key)
{
    return m_engine->find(key);
}

Lookup Cache::peek(const Key& key)
{
    return m_engine->peek(key, engine::Reach::everywhere);
}

Lookup Cache::look(const Key& key, const GetOptions& options)
{
    return m_engine->look(key, options);
}

Result<Lookup> Cache::make_past(Maker make, const Metadata& metadata)
{
    return m_engine->make_past(make, metadata);
}

Result<InsertReport> Cache::insert(const Key& key, Artifact artifact, const InsertOptions& options)
{
    return m_engine->insert(key, std::move(artifact), options);
}

Result<InsertReport> Cache::insert(const Request& request, Artifact artifact, const InsertOptions& options)
{
    artifact.request = request.encoding();
    return m_engine->insert(request.key(), std::move(artifact), options);
}

Result<Lookup> Cache::make_missing(const Key& key, const Bytes& request, Maker make, const GetOptions& options,
                                   Lookup found)
{
    return m_engine->make_missing(key, request, make, options, std::move(found));
}

std::future<Result<Lookup>> Cache::make_later(const Key& key, const Bytes& request, Maker make,
                                              const GetOptions& options)
{
    return m_engine->make_later(key, request, std::move(make), options);
}

bool Cache::races() const noexcept
{
    return m_engine->races();
}

void Cache::run_later(std::function<void(const Status&)> work)
{
    m_engine->run_later(std::move(work));
}

bool Cache::remove(const Key& key)
{
    return m_engine->remove(key);
}

std::vector<std::string> Cache::where(const Key& key)
{
    return m_engine->where(key);
}

MoveReport Cache::promote(const Key& key)
{
    return m_engine->promote(key);
}

MoveReport Cache::demote(const Key& key)
{
    return m_engine->demote(key);
}

std::vector<TierStatus> Cache::tiers()
{
    return m_engine->tiers();
}

Status Cache::set_limits(std::string_view tier, const Limits& limits)
{
    return m_engine->set_limits(tier, limits);
}

Status Cache::set_policy(std::string_view tier, const PolicyFactory& policy)
{
    return m_engine->set_policy(tier, policy);
}

std::optional<EntryRow> Cache::info(const Key& key)
{
    return m_engine->info(key);
}

void Cache::list(const std::function<bool(const EntryRow&)>& visit)
{
    m_engine->list(visit);
}

std::vector<EntryRow> Cache::hottest(std::size_t count)
{
    return m_engine->hottest(count);
}

VerifyReport Cache::verify(Repair repair, const Progress& progress)
{
    return m_engine->verify(repair, progress);
}

GcReport Cache::gc(const GcOptions& options, const Progress& progress)
{
    return m_engine->gc(options, progress);
}

Result<TransferReport> Cache::export_to(const std::string& path, const std::function<bool(const EntryRow&)>& choose,
                                        const Progress& progress)
{
    return m_engine->export_to(path, choose, progress);
}

Result<remote::Check> Cache::check_remote(std::string_view tier, std::uint64_t samples)
{
    return m_engine->check_remote(tier, samples);
}

Result<TransferReport> Cache::push(std::string_view tier, const std::function<bool(const EntryRow&)>& choose,
                                   const Progress& progress)
{
    return m_engine->push(tier, choose, progress);
}

Result<TransferReport> Cache::pull(std::string_view tier, const std::function<bool(const EntryRow&)>& choose,
                                   const Progress& progress)
{
    return m_engine->pull(tier, choose, progress);
}

Result<TransferReport> Cache::import_from(const std::string& path, const Progress& progress)
{
    return m_engine->import_from(path, progress);
}

void Cache::flush()
{
    m_engine->flush();
}

void Cache::clear_memory()
{
    m_engine->clear(false);
}

void Cache::clear()
{
    m_engine->clear(true);
}

void Cache::maintain()
{
    m_engine->maintain({});
}

Stats Cache::stats(Scope scope)
{
    return m_engine->stats(scope);
}

void Cache::reset_stats()
{
    m_engine->reset_stats();
}

const Recording* Cache::recording() const noexcept
{
    return m_engine->recording();
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
