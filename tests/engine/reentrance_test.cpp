#include "cache_test.hpp"

#include <future>
#include <stdexcept>

// What callbacks may do, and what a cache does that is being closed or was moved from.

namespace hearth::test {

namespace {

using Reentrance = CacheTest;

TEST_F(Reentrance, on_evict_may_look_up_but_not_change)
{
    Cache* cache = nullptr;
    std::vector<Code> refused;
    int removed = 0;
    CacheOptions chosen = options();
    chosen.tiers = {memory(MemoryOptions{.max_bytes = 0, .max_entries = 1}), disk_here()};
    chosen.on_evict = [&](const Eviction& eviction) {
        EXPECT_TRUE(cache->find(eviction.key).hit());
        refused.push_back(cache->insert(numbered_key(100), Artifact("from on_evict")).error().code);
        removed += cache->remove(eviction.key);
        EXPECT_TRUE(cache->get_or_compile(numbered_key(101), [] { return Artifact("compiled"); }).ok());
    };
    Cache opened = open(chosen);
    cache = &opened;
    put(opened, 1, 10);
    put(opened, 2, 10);
    EXPECT_EQ(refused, std::vector<Code>{Code::invalid_argument});
    EXPECT_EQ(removed, 0);
    EXPECT_TRUE(holds(opened, 1, 10));
    EXPECT_TRUE(admin::where(opened, numbered_key(100)).empty());
    put(opened, 100, 10);
    EXPECT_TRUE(opened.remove(numbered_key(100))) << "after the callback it may change again";
}

TEST_F(Reentrance, what_run_later_is_given_may_throw_and_that_is_logged_once)
{
    Cache cache = open_usual();
    for (int i = 0; i < 3; ++i) {
        std::promise<void> ran;
        cache.run_later([&](const Status&) {
            ran.set_value();
            throw std::runtime_error("no");
        });
        ran.get_future().get();
    }
    std::promise<void> still_works;
    cache.run_later([&](const Status&) { still_works.set_value(); });
    still_works.get_future().get();
    {
        const Cache closed = std::move(cache);
    }
    EXPECT_EQ(warnings(), Names{"What run_later() was given threw: no"});
}

TEST_F(Reentrance, what_runs_on_a_worker_may_own_the_last_of_the_cache)
{
    auto cache = std::make_shared<Cache>(open_usual());
    std::promise<void> begun;
    Cache& plain = *cache;
    plain.run_later([&begun, last = std::move(cache)](const Status&) mutable {
        last.reset();
        begun.set_value();
    });
    begun.get_future().get();
    EXPECT_TRUE(open_usual().insert(numbered_key(1), Artifact("after it")).ok());
}

TEST_F(Reentrance, a_policy_that_is_none_is_an_error_and_the_old_one_stays)
{
    Cache cache = open_usual();
    const auto code_of = [&](const PolicyFactory& policy) {
        const Status status = admin::set_policy(cache, "memory", policy);
        return status.ok() ? Code{} : status.error().code;
    };
    EXPECT_EQ(code_of(nullptr), Code::invalid_argument);
    EXPECT_EQ(code_of([] { return std::unique_ptr<Policy>(); }), Code::invalid_argument);
    EXPECT_EQ(code_of([]() -> std::unique_ptr<Policy> { throw std::runtime_error("no"); }), Code::invalid_argument);
    put(cache, 1, 10);
    EXPECT_TRUE(holds(cache, 1, 10));
    EXPECT_TRUE(admin::set_policy(cache, "memory", lru()).ok());
    EXPECT_TRUE(holds(cache, 1, 10));
}

TEST_F(Reentrance, a_cache_that_was_moved_from_answers_with_errors)
{
    Cache from = open_usual();
    put(from, 1, 10);
    Cache to = std::move(from);
    // NOLINTBEGIN(bugprone-use-after-move): what it then says is what is asked
    EXPECT_FALSE(from.find(numbered_key(1)).hit());
    EXPECT_EQ(from.insert(numbered_key(1), Artifact("x")).error().code, Code::invalid_argument);
    const auto compile = [] { return Artifact("x"); };
    EXPECT_EQ(from.get_or_compile(numbered_key(1), compile).error().code, Code::invalid_argument);
    EXPECT_EQ(from.get_or_compile_async(numbered_key(1), compile).get().error().code, Code::invalid_argument);
    EXPECT_EQ(from.compile_past_the_cache(compile).error().code, Code::invalid_argument);
    Status told;
    from.run_later([&](const Status& status) { told = status; });
    EXPECT_FALSE(told.ok());
    EXPECT_FALSE(from.remove(numbered_key(1)));
    EXPECT_FALSE(from.has_tiers());
    EXPECT_TRUE(admin::tiers(from).empty());
    EXPECT_EQ(from.stats().stores, 0U);
    from.flush();
    // NOLINTEND(bugprone-use-after-move)
    EXPECT_TRUE(holds(to, 1, 10));
}

}  // namespace

}  // namespace hearth::test
