#include "hearth/cache.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/of_process.hpp"
#include "engine/parts.hpp"
#include "hearth/lasting.hpp"
#include "hearth/refuse.hpp"
#include "hearth/vram.hpp"

namespace hearth {

namespace {

Error moved_from()
{
    return error(Code::invalid_argument, "{}", "This Cache was moved from: use the one that it was moved to.");
}

}  // namespace

// One without tiers for the process: what a Cache that was moved from stands on.
Cache::Parts& Cache::no_parts()
{
    struct NoParts {
        ~NoParts() { static_cast<void>(moved_from.m_parts.release()); }  // a lasting cache owns nothing

        static engine::EngineOptions options()
        {
            engine::EngineOptions options;
            options.policy = gdsf();
            options.clock = &base::system_clock();
            return options;
        }
        Parts parts{options()};
        Cache moved_from = std::move(parts.lasting.cache);  // so that this lasting cache, too, answers with errors
    };
    return base::made_once<NoParts>().parts;
}

Cache::Cache(std::unique_ptr<Parts> parts) : m_parts(std::move(parts)) {}
Cache::Cache(Cache&&) noexcept = default;
Cache& Cache::operator=(Cache&&) noexcept = default;
Cache::~Cache() = default;

Cache& lasting(Cache& cache) noexcept
{
    return cache.parts().lasting.cache;
}

void refuse(Cache& cache, const Lookup& found, const Key& key)
{
    cache.parts().stack.refuse(found, key);
}

Lookup peek_fact(Cache& cache, const Key& key)
{
    return cache.parts().stack.peek_here(key, EntryKind::derived);
}

Lookup Cache::find(const Key& key)
{
    return parts().stack.find(key);
}

Lookup Cache::peek(const Key& key, EntryKind kind)
{
    return parts().stack.peek(key, kind == EntryKind::derived ? Reach::this_machine : Reach::everywhere);
}

Lookup Cache::look(const Key& key, const GetOptions& options, Servers& servers)
{
    Reach asked = Reach::everywhere;
    Lookup found = parts().flights.look(key, options, asked);
    servers = asked == Reach::everywhere ? Servers::asked : Servers::not_asked;
    return found;
}

Result<Lookup> Cache::compile_past(const CompileFunction& compile, const Metadata& metadata, Timed timed)
{
    if (!m_parts)
        return moved_from();
    return parts().flights.compile_past_the_cache(compile, metadata, timed);
}

Status Cache::may_compile(const Metadata& metadata)
{
    if (!m_parts)
        return moved_from();
    return parts().flights.may_compile(metadata);
}

Result<InsertReport> Cache::insert(const Key& key, Artifact artifact, const InsertOptions& options)
{
    if (!m_parts)
        return moved_from();
    if (options.source == InsertOptions::Source::compiled)
        parts().flights.compiled_by_caller(key, artifact);
    return parts().stack.insert(key, std::move(artifact), options);
}

Result<InsertReport> Cache::insert(const Request& request, Artifact artifact, const InsertOptions& options)
{
    artifact.request = request.encoding();
    return insert(request.key(), std::move(artifact), options);
}

Result<Lookup> Cache::compile_missing(const Key& key, const Bytes& request, CompileFunction compile,
                                      const GetOptions& options, Lookup found, Servers servers)
{
    if (!m_parts)
        return moved_from();
    return parts().flights.compile_missing({key, request, std::move(compile), options}, std::move(found),
                                           servers == Servers::asked ? Reach::everywhere : Reach::this_machine);
}

std::future<Result<Lookup>> Cache::compile_later(const Key& key, const Bytes& request, CompileFunction compile,
                                                 const GetOptions& options)
{
    if (!m_parts) {
        std::promise<Result<Lookup>> refused;
        refused.set_value(moved_from());
        return refused.get_future();
    }
    return parts().flights.compile_later({key, request, std::move(compile), options});
}

bool Cache::has_tiers() const noexcept
{
    return parts().tiers.size() != 0;
}

bool Cache::stable_paths() const noexcept
{
    return parts().options.stable_paths == Switch::on;
}

std::string Cache::directory() const
{
    for (const engine::Place& place : parts().tiers)
        if (std::string directory = place->directory(); !directory.empty())
            return directory;
    return {};
}

std::uint32_t Cache::variants_after() const noexcept
{
    return parts().options.variants_after;
}

std::chrono::milliseconds Cache::compile_time_limit() const noexcept
{
    return parts().options.compile_time_limit;
}

bool Cache::races() const noexcept
{
    return parts().flights.races();
}

void Cache::run_later(std::function<void(const Status&)> work)
{
    if (!m_parts)
        return work(Status{moved_from()});
    parts().flights.run_later(std::move(work));
}

bool Cache::touch(const Key& key)
{
    return parts().stack.touch(key);
}

bool Cache::remove(const Key& key, Reach reach)
{
    return parts().stack.remove(key, reach);
}

void Cache::flush()
{
    parts().upkeep.flush();
}

Stats Cache::stats(Scope scope)
{
    return parts().statistics.read(scope);
}

const Recording* Cache::recording() const noexcept
{
    return parts().options.recording ? &*parts().options.recording : nullptr;
}

Vram Cache::vram(std::string_view tier)
{
    const engine::Tiers& tiers = parts().tiers;
    for (std::size_t i = 0; i < tiers.size(); ++i)
        if (tiers[i].device && (tier.empty() || tiers[i].name == tier))
            return {parts(), i, tiers[i].device};
    return {};
}

}  // namespace hearth
