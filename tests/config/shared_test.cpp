#include "hearth/admin.hpp"
#include "hearth/cache.hpp"
#include "support/forks.hpp"
#include "support/in_threads.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <array>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <set>

#include <unistd.h>

// Cache::shared(): one cache for the process. Each case has processes of its own, which end as programs do.

namespace hearth::test {

namespace {

class Shared : public testing::Test {
protected:
    void SetUp() override
    {
        SKIP_FORKS_WITH_THREADS();
        m_environment.set("HEARTH_DIR", m_scratch / "cache");
    }
    // Whether `work` succeeds in a process that then ends by exit(). One that hangs is ended by its alarm.
    static bool in_process(const std::function<bool()>& work)
    {
        const pid_t child = ::fork();
        if (child == 0) {
            ::alarm(60);
            std::exit(work() ? 0 : 1);
        }
        return child > 0 && child_was_right(child);
    }

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
    const Key m_key = Key::of("shared", 1);
};

TEST_F(Shared, is_one_cache_for_all_threads_and_is_flushed_when_the_program_ends)
{
    EXPECT_TRUE(in_process([&] {
        std::array<Cache*, 8> seen{};
        in_threads(seen.size(), [&](std::uint64_t i) { seen[i] = &Cache::shared(); });
        Cache& cache = Cache::shared();
        return std::set<Cache*>(seen.begin(), seen.end()) == std::set<Cache*>{&cache} &&
               cache.directory() == m_scratch / "cache" && cache.insert(m_key, Artifact("kernel")).ok() &&
               cache.find(m_key).hit();
    }));
    Cache later = Cache::open().value();
    EXPECT_EQ(later.peek(m_key)->text(), "kernel");
    EXPECT_EQ(admin::info(later, m_key)->uses, 1U) << "uses in memory are written down by a flush";
    EXPECT_EQ(later.stats(Scope::directory).hits, 1U);
}

TEST_F(Shared, goes_on_in_a_forked_child)
{
#if defined(HEARTH_HAS_ASAN)
    GTEST_SKIP() << "what a forked process leaves alone, since it belongs to threads that it does not have, is a leak";
#endif
    EXPECT_TRUE(in_process([&] {
        bool right = Cache::shared().insert(m_key, Artifact("parent's")).ok();
        right &= in_process([&] {
            Cache& cache = Cache::shared();
            return cache.find(m_key).tier() == "memory" &&
                   cache.get_or_compile(Key::of("shared", 2), [] { return "child's"; }).ok();
        });
        return right && Cache::shared().find(Key::of("shared", 2)).tier() == "disk";
    }));
}

TEST_F(Shared, is_there_even_where_nothing_can_be_kept)
{
    m_environment.set("HEARTH_DIR", "/proc/no/such/place");
    EXPECT_TRUE(in_process([&] {
        const Result<Lookup> got = Cache::shared().get_or_compile(m_key, [] { return "compiled"; });
        return got.ok() && (*got)->text() == "compiled";
    }));
    m_environment.set("HEARTH_DISABLE", "1");
    EXPECT_TRUE(in_process([] { return !Cache::shared().has_tiers() && Cache::shared().directory().empty(); }));
}

}  // namespace

}  // namespace hearth::test
