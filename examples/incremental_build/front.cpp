#include "front.hpp"

#include "eph/compile.hpp"

#include <utility>

namespace demo {

namespace {

constexpr std::string_view k_vram = "vram";

}  // namespace

IrCache::IrCache(std::uint64_t vram_bytes, const std::string& directory, Describe describe,
                 hearth::device::Backend backend)
    : m_describe(std::move(describe))
{
    hearth::Result<hearth::Cache> cache = hearth::Cache::open({
        .tiers = {hearth::vram({.name = std::string(k_vram), .backend = backend, .max_bytes = vram_bytes}),
                  hearth::disk(directory)},
        .promote_after = 1,  // what one build needs the next one needs: the first hit brings it into device memory
    });
    if (!cache) {
        m_problem = cache.error().message;
        return;
    }
    m_cache.emplace(std::move(*cache));
    // Nothing is asked of a device before something is to be stored there.
    const hearth::Key probe = hearth::Key::of("eph-ir", "probe");
    if (m_cache->insert(probe, hearth::Artifact("probe"), {.tier = std::string(k_vram), .kind = EntryKind::derived}))
        m_cache->remove(probe);
}

std::optional<Ir> IrCache::get(std::string_view file)
{
    const std::string name(file);
    return std::move(get_many({&name, 1}).front());
}

std::vector<std::optional<Ir>> IrCache::get_many(std::span<const std::string> files)
{
    std::vector<hearth::Key> keys;
    keys.reserve(files.size());
    for (const std::string& file : files)
        keys.push_back(asked(file).key());
    std::vector<std::optional<Ir>> found(files.size());
    if (!m_cache)
        return found;

    const auto started = std::chrono::steady_clock::now();
    if (const hearth::Vram vram = m_cache->vram()) {
        if (hearth::Result<hearth::device::HostCopy> copied = vram.read_many(keys)) {
            const auto owner = std::make_shared<const hearth::device::HostCopy>(std::move(*copied));
            for (std::size_t i = 0; i < keys.size(); ++i)
                if (owner->has(i))
                    found[i] = Ir{owner->bytes(i), std::string(k_vram), owner};
        }
    }
    for (std::size_t i = 0; i < keys.size(); ++i)
        if (!found[i])
            found[i] = find(keys[i]);
    const auto spent = std::chrono::steady_clock::now() - started;

    const std::scoped_lock lock(m_mutex);
    m_statistics.spent += spent;
    for (const std::optional<Ir>& ir : found)
        ++(!ir ? m_statistics.misses : ir->tier == k_vram ? m_statistics.vram_hits : m_statistics.disk_hits);
    return found;
}

std::optional<Ir> IrCache::find(const hearth::Key& key)
{
    const hearth::Lookup found = m_cache->find(key);
    if (!found)
        return std::nullopt;
    const std::shared_ptr<const hearth::Artifact> artifact = found.share();
    return Ir{artifact->bytes(), std::string(found.tier()), artifact};
}

void IrCache::insert(std::string_view file, hearth::ByteView ir, std::chrono::nanoseconds cost)
{
    std::optional<hearth::Request> request;
    {
        const std::scoped_lock lock(m_mutex);
        if (const auto known = m_asked.find(file); known != m_asked.end())
            request = known->second;
    }
    if (!m_cache || !request)
        return;
    hearth::Artifact artifact(hearth::Bytes::copy_of(ir));
    artifact.metadata.label = file;
    artifact.metadata.compiler = "eph " + std::to_string(eph::k_compiler_version);
    artifact.cost = cost;
    // What no tier takes will be compiled again: that is no reason to stop a build. The cache counts it and says so.
    static_cast<void>(m_cache->insert(*request, std::move(artifact)));
}

hearth::device::Lease IrCache::lease(std::string_view file)
{
    const hearth::Request request = asked(file);
    if (!m_cache)
        return {};
    hearth::Result<hearth::device::Lease> lease = m_cache->vram().load(request);
    return lease ? std::move(*lease) : hearth::device::Lease();
}

hearth::Request IrCache::asked(std::string_view file)
{
    hearth::Request request = m_describe(file);
    const std::scoped_lock lock(m_mutex);
    m_asked.insert_or_assign(std::string(file), request);
    return request;
}

hearth::Result<hearth::device::Report> IrCache::memory()
{
    if (!m_cache)
        return hearth::Error{hearth::Code::unavailable, m_problem, {}};
    return m_cache->vram().report();
}

IrStatistics IrCache::statistics() const
{
    const std::scoped_lock lock(m_mutex);
    return m_statistics;
}

}  // namespace demo
