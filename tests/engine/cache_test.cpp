#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "hearth/bundle.hpp"
#include "support/eventually.hpp"
#include "support/forks.hpp"

#include <unistd.h>

namespace hearth::test {

CacheOptions CacheTest::options()
{
    CacheOptions options;
    options.directory = directory();
    options.policy_name = "lru";
    options.maintenance = Maintenance::by_hand;
    options.clock = &m_clock;
    options.on_evict = [this](const Eviction& eviction) {
        const std::lock_guard lock(m_mutex);
        m_evictions.push_back(eviction);
    };
    options.log = [this](LogLevel level, std::string_view message) {
        const std::lock_guard lock(m_mutex);
        if (level == LogLevel::warning)
            m_warnings.emplace_back(message);
    };
    return options;
}

Cache CacheTest::open(CacheOptions options) const
{
    return Cache::open(std::move(options)).value();
}

CacheOptions CacheTest::with(std::vector<TierSpec> tiers)
{
    CacheOptions chosen = options();
    chosen.tiers = std::move(tiers);
    return chosen;
}

Cache CacheTest::open_eager(std::vector<TierSpec> tiers)
{
    CacheOptions chosen = with(std::move(tiers));
    chosen.promote_after = 1;
    return open(std::move(chosen));
}

Cache CacheTest::open_usual()
{
    return open({memory(0), disk_here()});
}

TierSpec CacheTest::memory_named(std::string name, std::uint64_t max_bytes)
{
    return memory(MemoryOptions{.name = std::move(name), .max_bytes = max_bytes});
}

TierSpec CacheTest::disk_here(std::uint64_t max_bytes) const
{
    return disk(directory(), max_bytes);
}

std::string CacheTest::file_of(const Key& key) const
{
    const std::string hex = key.hex();
    return directory() + "/v1/entries/" + hex.substr(0, 2) + "/" + hex.substr(2);
}

std::string CacheTest::make_bundle(std::uint64_t first, std::uint64_t last, std::size_t size, const std::string& name,
                                   const SigningKey* signer)
{
    DiskOptions on_disk{.directory = m_scratch / ("builder of " + name)};
    if (signer)
        on_disk.trust.sign_with = {*signer};
    Cache builder = open({disk(on_disk)});
    put_all(builder, first, last, size);
    EXPECT_EQ(bundles::create(bundle_file(name), builder).value().entries, last - first + 1);
    return bundle_file(name);
}

void CacheTest::damage(const std::string& path, std::size_t from_end)
{
    std::string bytes = read_file(path);
    bytes[bytes.size() - from_end] ^= 1;
    write_file(path, bytes);
}

InsertReport CacheTest::put(Cache& cache, std::uint64_t number, std::size_t size, const std::string& tier,
                            std::uint64_t version)
{
    const Key key = numbered_key(number);
    Result<InsertReport> report = cache.insert(key, *sample_artifact(key, size, version), {.tier = tier});
    EXPECT_TRUE(report.ok()) << "key " << number << ": " << (report.ok() ? "" : report.error().message);
    return report.ok() ? *report : InsertReport{};
}

void CacheTest::put_all(Cache& cache, std::uint64_t first, std::uint64_t last, std::size_t size,
                        const std::string& tier)
{
    for (std::uint64_t number = first; number <= last; ++number)
        put(cache, number, size, tier);
}

bool CacheTest::holds(Cache& cache, std::uint64_t number, std::size_t size, std::uint64_t version)
{
    const Key key = numbered_key(number);
    const Lookup found = cache.find(key);
    return found && found->text() == sample_bytes(key, size, version).text();
}

TierStatus CacheTest::status_of(Cache& cache, std::string_view tier)
{
    for (TierStatus& status : admin::tiers(cache))
        if (status.name == tier)
            return status;
    ADD_FAILURE() << "there is no tier " << tier;
    return {};
}

TierStats CacheTest::stats_of(Cache& cache, std::string_view tier, Scope scope)
{
    for (TierStats& stats : cache.stats(scope).tiers)
        if (stats.name == tier)
            return stats;
    ADD_FAILURE() << "there is no tier " << tier;
    return {};
}

void CacheTest::wait_for_waiters(Cache& cache, std::uint64_t count)
{
    EXPECT_TRUE(eventually("all the others wait", [&] { return cache.stats().waited == count; }));
}

testing::AssertionResult CacheTest::in_child(const std::function<bool()>& work)
{
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::_exit(work() ? 0 : 1);
    }
    return child_was_right(child);
}

std::vector<Eviction> CacheTest::evictions() const
{
    const std::lock_guard lock(m_mutex);
    return m_evictions;
}

Names CacheTest::warnings() const
{
    const std::lock_guard lock(m_mutex);
    return m_warnings;
}

}  // namespace hearth::test
