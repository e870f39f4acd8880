#pragma once

#include "hearth/admin.hpp"
#include "hearth/cache.hpp"
#include "support/isolated_environment.hpp"
#include "support/manual_clock.hpp"
#include "support/sample_entries.hpp"
#include "support/scratch_directory.hpp"

#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::test {

using Names = std::vector<std::string>;

// Caches whose time, environment, log and victims are the test's own. The numbers in the tests of this folder are those
// of the capabilities a case shows.
class CacheTest : public testing::Test {
protected:
    // Nothing happens in the background, every eviction and every line of the log is kept, and the victim is the entry
    // that was used longest ago, so that a case can name it.
    CacheOptions options();
    CacheOptions with(std::vector<TierSpec> tiers);
    Cache open(CacheOptions options) const;
    Cache open(std::vector<TierSpec> tiers) { return open(with(std::move(tiers))); }
    // The first use moves an entry up.
    Cache open_eager(std::vector<TierSpec> tiers);
    // Memory over the scratch directory.
    Cache open_usual();

    static TierSpec memory_named(std::string name, std::uint64_t max_bytes);
    TierSpec disk_here(std::uint64_t max_bytes = 0) const;
    std::string directory() const { return m_scratch / "cache"; }
    std::string file_of(const Key& key) const;
    // A bundle in the scratch directory, and one of keys `first` to `last`, made by a cache that knows nothing of
    // directory() and signs its entries with `signer`.
    std::string bundle_file(const std::string& name = "kernels.bundle") const { return m_scratch / name; }
    std::string make_bundle(std::uint64_t first, std::uint64_t last, std::size_t size,
                            const std::string& name = "kernels.bundle", const SigningKey* signer = nullptr);
    // Flips a bit of the file, so many bytes before its end.
    static void damage(const std::string& path, std::size_t from_end = 1);

    // Inserts key `number` with a payload of `size` bytes; a failure fails the test.
    static InsertReport put(Cache& cache, std::uint64_t number, std::size_t size, const std::string& tier = {},
                            std::uint64_t version = 0);
    static void put_all(Cache& cache, std::uint64_t first, std::uint64_t last, std::size_t size,
                        const std::string& tier = {});
    // Whether key `number` is found with exactly what put() inserted.
    static bool holds(Cache& cache, std::uint64_t number, std::size_t size, std::uint64_t version = 0);
    static TierStatus status_of(Cache& cache, std::string_view tier);
    static TierStats stats_of(Cache& cache, std::string_view tier, Scope scope = Scope::process);
    static std::uint64_t misses(const Stats& stats, Miss why) { return stats.misses[static_cast<std::size_t>(why)]; }

    // Until so many calls wait for what another one compiles.
    static void wait_for_waiters(Cache& cache, std::uint64_t count);
    // Whether `work` says yes in a forked child. One that hangs is ended by its alarm.
    static testing::AssertionResult in_child(const std::function<bool()>& work);

    std::vector<Eviction> evictions() const;
    Names warnings() const;

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
    ManualClock m_clock;

private:
    mutable std::mutex m_mutex;
    std::vector<Eviction> m_evictions;
    Names m_warnings;
};

inline Error failed_compile(std::string message = "error: expected ';'", std::string log = "k.cu(3): expected ';'\n")
{
    return {Code::compile_failed, std::move(message), std::move(log)};
}

// What a call was answered with, or why it was not.
inline std::string text_of(const Result<Lookup>& got)
{
    return got.ok() ? std::string((*got)->text()) : "error: " + got.error().message;
}

// None: it succeeded.
template <class T>
std::optional<Code> code_of(const Result<T>& result)
{
    return result.ok() ? std::nullopt : std::optional(result.error().code);
}

}  // namespace hearth::test
