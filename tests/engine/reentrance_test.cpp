#include "cache_test.hpp"
#include "hearth/lasting.hpp"
#include "hearth/vram.hpp"
#include "hooked_tier.hpp"
#include "support/in_threads.hpp"

#include <algorithm>
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
    CacheOptions chosen = with({memory(MemoryOptions{.max_bytes = 0, .max_entries = 1}), disk_here()});
    chosen.on_evict = [&](const Eviction& eviction) {
        EXPECT_TRUE(cache->find(eviction.key).hit()) << "it is told when the entry has arrived below";
        refused.push_back(cache->insert(numbered_key(100), Artifact("from on_evict")).error().code);
        removed += cache->remove(eviction.key);
        admin::clear(*cache);
        admin::clear_memory(*cache);
        EXPECT_TRUE(cache->get_or_compile(numbered_key(101), [] { return Artifact("compiled"); }).ok());
    };
    Cache opened = open(chosen);
    cache = &opened;
    put(opened, 1, 10, "memory");
    put(opened, 2, 10);
    EXPECT_EQ(refused, std::vector<Code>{Code::invalid_argument});
    EXPECT_EQ(removed, 0);
    EXPECT_TRUE(holds(opened, 1, 10));
    EXPECT_TRUE(admin::where(opened, numbered_key(100)).empty());
    put(opened, 100, 10);
    EXPECT_TRUE(opened.remove(numbered_key(100))) << "after the callback it may change again";
}

TEST_F(Reentrance, on_evict_may_not_move_load_or_evict_either)
{
    Cache* cache = nullptr;
    int depth = 0;
    int deepest = 0;
    int told = 0;
    CacheOptions chosen = with({vram({.backend = device::Backend::host, .max_bytes = 1_MiB}),
                                memory(MemoryOptions{.max_bytes = 0, .max_entries = 2}), disk_here()});
    chosen.on_evict = [&](const Eviction&) {
        ++told;
        deepest = std::max(deepest, ++depth);
        for (std::uint64_t number = 1; number <= 4 && depth < 5; ++number) {
            EXPECT_EQ(cache->vram().load(numbered_key(number)).error().code, Code::invalid_argument) << number;
            EXPECT_NE(admin::promote(*cache, numbered_key(number)).outcome, MoveReport::Outcome::moved) << number;
            EXPECT_NE(admin::demote(*cache, numbered_key(number)).outcome, MoveReport::Outcome::moved) << number;
        }
        EXPECT_FALSE(admin::set_limits(*cache, "memory", {.max_entries = 1}).ok());
        EXPECT_EQ(admin::gc(*cache, {.max_entries = 0}).removed_entries, 0U);
        --depth;
    };
    Cache opened = open(chosen);
    cache = &opened;
    for (std::uint64_t number = 1; number <= 4; ++number)
        put(opened, number, 10, number <= 2 ? "memory" : "disk");
    put(opened, 3, 10, "memory");
    EXPECT_EQ(deepest, 1);
    EXPECT_EQ(told, 1);
    EXPECT_TRUE(opened.vram().load(numbered_key(1)).ok()) << "after the callback it may";
}

TEST_F(Reentrance, on_evict_may_use_another_cache_but_not_come_back_through_it)
{
    Cache* first = nullptr;
    Cache* second = nullptr;
    std::vector<bool> stored;
    CacheOptions one = with({memory(MemoryOptions{.max_bytes = 0, .max_entries = 1})});
    one.on_evict = [&](const Eviction& eviction) {
        stored.push_back(second->insert(eviction.key, Artifact("kept elsewhere")).ok());
    };
    CacheOptions other = with({memory(MemoryOptions{.max_bytes = 0, .max_entries = 1})});
    other.on_evict = [&](const Eviction& eviction) {
        stored.push_back(first->insert(eviction.key, Artifact("back again")).ok());
    };
    Cache a = open(one);
    Cache b = open(other);
    first = &a;
    second = &b;
    put_all(a, 1, 3, 10);
    EXPECT_EQ(stored, (std::vector<bool>{true, false, true}));
    EXPECT_TRUE(b.find(numbered_key(2)).hit());
    EXPECT_TRUE(holds(a, 3, 10));
}

TEST_F(Reentrance, what_a_tier_of_the_programs_own_gives_is_not_signed_here)
{
    Cache plain = open({disk(m_scratch / "plain")});
    put(plain, 1, 10);
    const auto says_nothing = [](Found& found) {
        if (!found)
            return;
        auto copy = std::make_shared<Artifact>(*found.artifact);
        copy->origin = Origin::unknown;
        found.artifact = ArtifactLease(std::shared_ptr<const Artifact>(std::move(copy)));
    };
    DiskOptions signing{.directory = directory()};
    signing.trust.sign_with = {SigningKey::generate().value()};
    Cache cache = open({memory(0), disk(signing),
                        hooked(disk({.name = "theirs", .directory = m_scratch / "plain"}), {.gives = says_nothing})});
    for (const Artifact& theirs : {*cache.find(numbered_key(1)), *cache.peek(numbered_key(1))}) {
        Artifact changed = theirs;
        changed.sections.push_back({"more", Bytes::copy_of("of it")});
        EXPECT_EQ(cache.insert(numbered_key(2), changed).error().code, Code::invalid_argument);
    }
    EXPECT_FALSE(cache.find(numbered_key(2)).hit());
}

TEST_F(Reentrance, what_was_read_without_a_trusted_signature_is_inserted_nowhere_where_entries_are_signed)
{
    const SigningKey signer = SigningKey::generate().value();
    const auto open_with = [&](Trust trust) {
        DiskOptions on_disk{.directory = directory()};
        on_disk.trust = std::move(trust);
        return open({memory(0), vram({.backend = device::Backend::host, .max_bytes = 1_MiB}), disk(on_disk)});
    };
    Cache plain = open({disk(m_scratch / "plain")});
    put(plain, 1, 10);
    Artifact changed = *plain.find(numbered_key(1));
    changed.sections.push_back({"more", Bytes::copy_of("of it")});
    Cache signing = open_with({.sign_with = {signer}});
    put(signing, 1, 10, "disk");
    for (const char* const tier : {"", "memory", "vram", "disk"})
        for (const std::uint64_t number : {1, 2})
            EXPECT_EQ(signing.insert(numbered_key(number), changed, {.tier = tier}).error().code,
                      Code::invalid_argument)
                << number << " " << tier;
    EXPECT_EQ(signing.vram().insert(numbered_key(1), changed).error().code, Code::invalid_argument);
    EXPECT_EQ(admin::where(signing, numbered_key(1)), Names{"disk"}) << "what was there stays";
    ASSERT_TRUE(signing.insert(numbered_key(3), Artifact("compiled here"), {.tier = "vram"}).ok());
    EXPECT_EQ(admin::demote(signing, numbered_key(3)).to, "disk");
    Artifact trusted = *signing.find(numbered_key(1));
    trusted.sections.push_back({"more", Bytes::copy_of("of ours")});
    ASSERT_TRUE(signing.insert(numbered_key(4), trusted).ok()) << "what a trusted key has signed may go on";

    Cache demanding = open_with({.signatures = Signatures::demanded, .trusted = {signer.public_key()}});
    for (const std::uint64_t number : {1, 3, 4})
        EXPECT_TRUE(demanding.find(numbered_key(number)).hit()) << number;
    EXPECT_EQ(demanding.insert(numbered_key(2), changed).error().code, Code::invalid_argument);
}

TEST_F(Reentrance, what_run_later_is_given_may_throw_and_that_is_logged_once)
{
    Cache cache = open_usual();
    for (const bool throws : {true, true, true, false}) {
        std::promise<void> ran;
        cache.run_later([&ran, throws](const Status&) {
            ran.set_value();
            if (throws)
                throw std::runtime_error("no");
        });
        ran.get_future().get();
    }
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
    const PolicyFactory none = [] { return std::unique_ptr<Policy>(); };
    const PolicyFactory throws = []() -> std::unique_ptr<Policy> { throw std::runtime_error("no"); };
    for (const PolicyFactory& policy : {PolicyFactory(), none, throws})
        EXPECT_EQ(code_of(admin::set_policy(cache, "memory", policy)), Code::invalid_argument);
    put(cache, 1, 10);
    EXPECT_TRUE(holds(cache, 1, 10));
    EXPECT_TRUE(admin::set_policy(cache, "memory", lru()).ok());
    EXPECT_TRUE(holds(cache, 1, 10));
}

TEST_F(Reentrance, several_caches_that_were_moved_from_may_be_asked_first_at_once)
{
    std::vector<Cache> from;
    std::vector<Cache> to;
    for (int i = 0; i < 4; ++i) {
        from.push_back(Cache::open({.tiers = {memory(1_MiB)}}).value());
        to.push_back(std::move(from.back()));
    }
    in_threads(4, [&](std::uint64_t i) { EXPECT_FALSE(from[i].find(numbered_key(1)).hit()); });
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

TEST_F(Reentrance, a_lasting_cache_is_the_same_wherever_it_is_moved)
{
    auto first = std::make_unique<Cache>(open_usual());
    Cache& kept = lasting(*first);
    EXPECT_EQ(&kept, &lasting(kept));
    Cache second = std::move(*first);
    EXPECT_FALSE(lasting(*first).insert(numbered_key(2), Artifact("x")).ok()) << "one that was moved from has errors";
    first.reset();
    put(kept, 1, 10);
    EXPECT_TRUE(holds(second, 1, 10));
    Cache third = open({memory(0)});
    third = std::move(second);
    EXPECT_TRUE(holds(kept, 1, 10));
    EXPECT_TRUE(kept.get_or_compile_async(numbered_key(3), [] { return "compiled"; }).get().ok());
}

}  // namespace

}  // namespace hearth::test
