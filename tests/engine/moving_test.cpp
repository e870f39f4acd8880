#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "hooked_tier.hpp"

#include <set>

// Promotion, demotion and eviction, and what can be changed while the cache runs (14-17, 19, 20, 23, 24).

namespace hearth::test {

namespace {

using namespace std::chrono_literals;

class Moving : public CacheTest {
protected:
    Cache two_tiers(std::uint64_t fast, std::uint64_t slow)
    {
        return open({memory_named("fast", fast), memory_named("slow", slow)});
    }
};

// A policy of a user's own: the largest goes first, and only what is small moves up.
class LargestFirst : public Policy {
public:
    void inserted(const Resident& entry) override { m_by_size.insert({entry.bytes, &entry}); }
    void removed(const Resident& entry) override { m_by_size.erase({entry.bytes, &entry}); }
    const Resident* victim() override { return m_by_size.empty() ? nullptr : m_by_size.rbegin()->second; }
    bool promote(const Resident& entry) const override { return entry.bytes <= 10; }

private:
    std::set<std::pair<std::uint64_t, const Resident*>> m_by_size;
};

PolicyFactory largest_first()
{
    return [] { return std::make_unique<LargestFirst>(); };
}

TEST_F(Moving, two_accesses_stay_and_the_third_moves_and_the_caller_is_told)
{
    Cache cache = two_tiers(1000, 1000);
    put(cache, 1, 100, "slow");
    for (int access = 1; access <= 4; ++access) {
        const Lookup found = cache.find(numbered_key(1));
        EXPECT_EQ(found.tier(), access <= 3 ? "slow" : "fast");
        EXPECT_EQ(found.promoted_to(), access == 3 ? "fast" : "");
        // A volatile tier hands the entry over.
        EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{access < 3 ? "slow" : "fast"});
    }
    EXPECT_EQ(stats_of(cache, "fast").promotions, 1U);
}

TEST_F(Moving, promotion_goes_one_tier_up_at_a_time_and_leaves_the_persistent_copy)
{
    Cache cache = open({memory_named("fast", 0), memory_named("slow", 0), disk_here()});
    put(cache, 1, 10, "disk");
    Names moves;
    for (int access = 1; access <= 7; ++access)
        moves.emplace_back(cache.find(numbered_key(1)).promoted_to());
    EXPECT_EQ(moves, (Names{"", "", "slow", "", "", "fast", ""}));
    EXPECT_EQ(admin::where(cache, numbered_key(1)), (Names{"fast", "disk"}));
}

TEST_F(Moving, the_promotion_threshold_is_a_setting)
{
    for (const std::string policy : {"gdsf", "lru"}) {
        CacheOptions eager = options();
        eager.policy_name = policy;
        eager.promote_after = 1;
        eager.tiers = {memory_named("fast", 0), memory_named("slow", 0)};
        Cache cache = open(eager);
        put(cache, 1, 10, "slow");
        EXPECT_EQ(cache.find(numbered_key(1)).promoted_to(), "fast") << policy;
    }
}

TEST_F(Moving, promotion_into_a_full_tier_demotes_its_victim)
{
    // Whichever of the two tiers is the larger, both entries can still be retrieved.
    for (const auto& [fast, slow] : {std::pair{100U, 400U}, {400U, 100U}, {100U, 100U}})
        for (const bool by_hand : {true, false}) {
            SCOPED_TRACE(std::to_string(fast) + " over " + std::to_string(slow) + (by_hand ? " by hand" : ""));
            Cache cache = two_tiers(fast, slow);
            put(cache, 1, 100, "fast");
            put(cache, 2, 100, "slow");
            if (fast == 400)
                put(cache, 3, 300, "fast");
            if (by_hand)
                EXPECT_EQ(to_string(admin::promote(cache, numbered_key(2)).outcome), "moved");
            else
                for (int access = 1; access <= 3; ++access)
                    EXPECT_TRUE(holds(cache, 2, 100));
            EXPECT_EQ(admin::where(cache, numbered_key(2)), Names{"fast"});
            EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"slow"});
            EXPECT_TRUE(holds(cache, 1, 100));
            EXPECT_TRUE(holds(cache, 2, 100));
            EXPECT_LE(status_of(cache, "fast").usage.bytes, fast);
            EXPECT_LE(status_of(cache, "slow").usage.bytes, slow);
            EXPECT_EQ(stats_of(cache, "fast").demotions, 1U);
        }
}

TEST_F(Moving, promotion_into_a_tier_smaller_than_the_entry_leaves_that_tier_intact)
{
    Cache cache = two_tiers(100, 400);
    put(cache, 1, 60, "fast");
    put(cache, 2, 101, "slow");
    for (int access = 1; access <= 5; ++access)
        EXPECT_EQ(cache.find(numbered_key(2)).promoted_to(), "");
    const MoveReport report = admin::promote(cache, numbered_key(2));
    EXPECT_EQ(to_string(report.outcome), "does not fit");
    EXPECT_EQ(report.from, "slow");
    EXPECT_EQ(report.to, "fast");
    EXPECT_NE(report.reason.find("101 bytes"), std::string::npos);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"fast"});
    EXPECT_EQ(admin::where(cache, numbered_key(2)), Names{"slow"});
    EXPECT_EQ(status_of(cache, "fast").usage.bytes, 60U);
    EXPECT_TRUE(evictions().empty());
    EXPECT_EQ(stats_of(cache, "fast").promotions, 0U);
}

TEST_F(Moving, promotion_by_hand_answers_what_happened)
{
    Cache cache = two_tiers(1000, 1000);
    EXPECT_EQ(to_string(admin::promote(cache, numbered_key(1)).outcome), "not found");
    put(cache, 1, 10, "slow");
    const MoveReport moved = admin::promote(cache, numbered_key(1));
    EXPECT_EQ(to_string(moved.outcome), "moved");
    EXPECT_EQ(moved.from, "slow");
    EXPECT_EQ(moved.to, "fast");
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"fast"});
    const MoveReport top = admin::promote(cache, numbered_key(1));
    EXPECT_EQ(to_string(top.outcome), "already in the fastest tier");
    EXPECT_EQ(top.from, "fast");
    EXPECT_EQ(stats_of(cache, "fast").promotions, 1U);
}

TEST_F(Moving, demotion_goes_one_tier_down_and_at_the_bottom_does_nothing)
{
    Cache cache = open({memory_named("fast", 0), memory_named("slow", 0), disk_here()});
    EXPECT_EQ(to_string(admin::demote(cache, numbered_key(1)).outcome), "not found");
    put(cache, 1, 10, "fast");
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"fast", "slow"}, {"slow", "disk"}}) {
        const MoveReport report = admin::demote(cache, numbered_key(1));
        EXPECT_EQ(to_string(report.outcome), "moved");
        EXPECT_EQ(report.from, from);
        EXPECT_EQ(report.to, to);
        EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{to});
    }
    const MoveReport bottom = admin::demote(cache, numbered_key(1));
    EXPECT_EQ(to_string(bottom.outcome), "already in the slowest tier");
    EXPECT_EQ(bottom.from, "disk");
    EXPECT_TRUE(holds(cache, 1, 10));
}

TEST_F(Moving, demotion_to_a_tier_that_has_the_entry_only_drops_the_upper_copy)
{
    Cache cache = open_usual();
    put(cache, 1, 10);
    EXPECT_EQ(to_string(admin::demote(cache, numbered_key(1)).outcome), "moved");
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"disk"});
    EXPECT_EQ(stats_of(cache, "disk").stores, 1U);
}

TEST_F(Moving, demotion_into_a_tier_that_cannot_take_it_leaves_the_entry_where_it_is)
{
    Cache cache = two_tiers(1000, 50);
    put(cache, 1, 60, "fast");
    EXPECT_EQ(to_string(admin::demote(cache, numbered_key(1)).outcome), "does not fit");
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"fast"});

    const auto fail = [](const Key&) { return Error{Code::no_space, "The disk is full.", {}}; };
    Cache full = open({memory_named("fast", 0), hooked(memory_named("slow", 0), {.store = fail})});
    put(full, 1, 60);
    const MoveReport refused = admin::demote(full, numbered_key(1));
    EXPECT_EQ(to_string(refused.outcome), "refused");
    EXPECT_EQ(refused.reason, "The disk is full.");
    EXPECT_EQ(admin::where(full, numbered_key(1)), Names{"fast"});
}

TEST_F(Moving, a_read_only_tier_is_never_moved_into)
{
    {
        Cache filler = open({disk_here()});
        put(filler, 1, 10);
    }
    const DiskOptions read_only{.directory = directory(), .access = Access::read_only};
    Cache cache = open({memory_named("fast", 10), disk(read_only)});
    put(cache, 2, 10);
    EXPECT_EQ(to_string(admin::demote(cache, numbered_key(2)).outcome), "already in the slowest tier");
    put(cache, 3, 10);
    EXPECT_TRUE(admin::where(cache, numbered_key(2)).empty()) << "there is nowhere to demote to";
    EXPECT_FALSE(cache.remove(numbered_key(1)));
    admin::clear(cache);
    EXPECT_TRUE(holds(cache, 1, 10));
}

TEST_F(Moving, moves_count_neither_as_lookups_nor_as_uses)
{
    Cache cache = open({memory_named("fast", 0), memory_named("slow", 0), disk_here()});
    put(cache, 1, 10, "fast");
    EXPECT_TRUE(holds(cache, 1, 10));
    for (int round = 0; round < 5; ++round) {
        admin::demote(cache, numbered_key(1));
        admin::promote(cache, numbered_key(1));
    }
    EXPECT_EQ(cache.stats().lookups(), 1U);
    EXPECT_LE(admin::info(cache, numbered_key(1))->uses, 1U);
}

TEST_F(Moving, evicting_from_memory_demotes_to_disk)
{
    Cache cache = open({memory_named("fast", 100), disk_here()});
    put(cache, 1, 60, "fast");
    put(cache, 2, 60, "fast");
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"disk"});
    EXPECT_TRUE(holds(cache, 1, 60));
    ASSERT_EQ(evictions().size(), 1U);
    const Eviction eviction = evictions()[0];
    EXPECT_EQ(eviction.key, numbered_key(1));
    EXPECT_EQ(eviction.bytes, 60U);
    EXPECT_EQ(eviction.cause, EvictionCause::capacity);
    EXPECT_EQ(eviction.tier, "fast");
    EXPECT_EQ(eviction.demoted_to, "disk");
    EXPECT_EQ(stats_of(cache, "fast").evictions, 1U);
    EXPECT_EQ(stats_of(cache, "fast").demotions, 1U);
}

TEST_F(Moving, evicting_what_a_lower_tier_has_stores_it_no_second_time)
{
    Cache cache = open({memory_named("fast", 100), disk_here()});
    put(cache, 1, 60);
    put(cache, 2, 60);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"disk"});
    ASSERT_EQ(evictions().size(), 1U);
    EXPECT_EQ(evictions()[0].demoted_to, "disk") << "it can still be found there";
    EXPECT_EQ(stats_of(cache, "fast").evictions, 1U);
    EXPECT_EQ(stats_of(cache, "fast").demotions, 0U);
    EXPECT_EQ(stats_of(cache, "disk").stores, 2U);
}

TEST_F(Moving, victims_fall_tier_by_tier_until_one_holds_them)
{
    Cache cache = open({memory_named("a", 100), memory_named("b", 100), memory_named("c", 300)});
    put_all(cache, 1, 5, 100);
    EXPECT_EQ(admin::where(cache, numbered_key(5)), Names{"a"});
    EXPECT_EQ(admin::where(cache, numbered_key(4)), Names{"b"});
    for (std::uint64_t number = 1; number <= 3; ++number)
        EXPECT_EQ(admin::where(cache, numbered_key(number)), Names{"c"});
    put(cache, 6, 100);
    EXPECT_TRUE(admin::where(cache, numbered_key(1)).empty());
    EXPECT_EQ(evictions().back().key, numbered_key(6 - 1)) << "the first victim is told after those it pushed out";
    EXPECT_EQ(cache.stats().evictions(), evictions().size());
}

TEST_F(Moving, a_victim_that_fits_nowhere_below_is_gone_and_told_so)
{
    Cache cache = two_tiers(100, 50);
    put(cache, 1, 60);
    put(cache, 2, 60);
    EXPECT_TRUE(admin::where(cache, numbered_key(1)).empty());
    ASSERT_EQ(evictions().size(), 1U);
    EXPECT_EQ(evictions()[0].demoted_to, "");
    EXPECT_EQ(stats_of(cache, "fast").demotions, 0U);
}

TEST_F(Moving, what_a_store_evicted_before_it_failed_is_reported_and_demoted)
{
    bool fails = false;
    const auto fail = [&](const Key&) {
        return fails ? std::optional(Error{Code::io, "The rename failed.", {}}) : std::nullopt;
    };
    for (const bool copied : {false, true}) {
        SCOPED_TRACE(copied ? "by a copy" : "by an insert");
        fails = false;
        Cache cache = open(
            {memory_named("top", 0), hooked(memory_named("fast", 100), {.stored = fail}), memory_named("slow", 0)});
        const std::size_t known = evictions().size();
        put(cache, 1, 100, "fast");
        put(cache, 2, 100, "slow");
        fails = true;
        if (copied)
            EXPECT_EQ(admin::promote(cache, numbered_key(2)).outcome, MoveReport::Outcome::refused);
        else
            EXPECT_FALSE(cache.insert(numbered_key(3), Artifact(sample_bytes(numbered_key(3), 100)), {.tier = "fast"}));
        EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"slow"});
        ASSERT_EQ(evictions().size(), known + 1);
        EXPECT_EQ(evictions().back().key, numbered_key(1));
        EXPECT_EQ(evictions().back().demoted_to, "slow");
        EXPECT_EQ(stats_of(cache, "fast").evictions, 1U);
        EXPECT_EQ(stats_of(cache, "fast").demotions, 1U);
    }
}

TEST_F(Moving, a_callback_that_throws_costs_nothing_and_is_said_once)
{
    CacheOptions throwing = with({memory_named("fast", 100)});
    throwing.on_evict = [](const Eviction&) { throw std::runtime_error("callback broke"); };
    Cache cache = open(throwing);
    put_all(cache, 1, 4, 60);
    EXPECT_TRUE(cache.get_or_compile(numbered_key(5), [] { return Artifact(std::string(60, 'x')); }).ok());
    EXPECT_EQ(cache.find(numbered_key(5))->size(), 60U);
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_NE(warnings()[0].find("callback broke"), std::string::npos);
}

TEST_F(Moving, a_leased_artifact_outlives_the_cache)
{
    Lookup in_memory;
    Lookup on_disk;
    {
        Cache cache = open_usual();
        put_all(cache, 1, 2, 600);
        in_memory = cache.find(numbered_key(1));
        admin::clear_memory(cache);
        on_disk = cache.find(numbered_key(2));
    }
    EXPECT_EQ(in_memory->text(), sample_bytes(numbered_key(1), 600).text());
    const std::shared_ptr<const Artifact> shared = on_disk.share();
    on_disk = {};
    EXPECT_EQ(shared->text(), sample_bytes(numbered_key(2), 600).text());
}

TEST_F(Moving, a_lowered_limit_evicts_now)
{
    Cache cache = open({memory_named("fast", 0), disk_here()});
    put_all(cache, 1, 10, 100);
    ASSERT_TRUE(admin::set_limits(cache, "fast", {.max_bytes = 300}).ok());
    EXPECT_EQ(status_of(cache, "fast").usage.bytes, 300U);
    EXPECT_EQ(status_of(cache, "fast").limits.max_bytes, 300U);
    EXPECT_EQ(evictions().size(), 7U);
    EXPECT_EQ(evictions()[0].cause, EvictionCause::limit_lowered);
    EXPECT_EQ(evictions()[0].key, numbered_key(1)) << "the one used longest ago goes first";
    ASSERT_TRUE(admin::set_limits(cache, "disk", {.max_entries = 4}).ok());
    EXPECT_EQ(status_of(cache, "disk").usage.entries, 4U);
    EXPECT_EQ(cache.stats().evictions(), 13U);
    ASSERT_TRUE(admin::set_limits(cache, "fast", {}).ok());
    put(cache, 11, 5000);
    EXPECT_EQ(status_of(cache, "fast").usage.bytes, 5300U) << "raised as well as lowered";
}

TEST_F(Moving, a_lowered_limit_demotes_what_the_lower_tier_lacks)
{
    Cache cache = two_tiers(0, 0);
    put(cache, 1, 100);
    put(cache, 2, 100);
    ASSERT_TRUE(admin::set_limits(cache, "fast", {.max_bytes = 100}).ok());
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"slow"});
    EXPECT_EQ(admin::where(cache, numbered_key(2)), Names{"fast"});
}

TEST_F(Moving, limits_and_policies_of_unknown_tiers_are_an_error)
{
    Cache cache = open_usual();
    EXPECT_EQ(admin::set_limits(cache, "vram", {}).error().code, Code::not_found);
    EXPECT_EQ(admin::set_policy(cache, "vram", lru()).error().code, Code::not_found);
}

TEST_F(Moving, a_policy_changed_at_run_time_takes_effect_at_once)
{
    Cache cache = two_tiers(100, 0);
    put(cache, 1, 60);
    put(cache, 2, 30);
    EXPECT_TRUE(holds(cache, 1, 60));
    ASSERT_TRUE(admin::set_policy(cache, "fast", largest_first()).ok());
    put(cache, 3, 20);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"slow"}) << "the largest goes, though it was used last";
    EXPECT_EQ(admin::where(cache, numbered_key(2)), Names{"fast"});

    put(cache, 4, 10, "slow");
    EXPECT_EQ(cache.find(numbered_key(4)).promoted_to(), "");
    ASSERT_TRUE(admin::set_policy(cache, "slow", largest_first()).ok());
    EXPECT_EQ(cache.find(numbered_key(4)).promoted_to(), "fast") << "the tier's policy decides what leaves it upwards";
    put(cache, 5, 11, "slow");
    for (int access = 0; access < 10; ++access)
        EXPECT_EQ(cache.find(numbered_key(5)).promoted_to(), "");
}

TEST_F(Moving, accessed_1_2_1_gives_frequencies_2_and_1_and_hottest_1)
{
    const auto expect_frequencies = [](Cache& cache) {
        const std::vector<EntryRow> rows = admin::hottest(cache, 10);
        ASSERT_EQ(rows.size(), 3U);
        EXPECT_EQ(rows[0].key, numbered_key(1));
        EXPECT_EQ(rows[0].uses, 2U);
        EXPECT_EQ(rows[1].key, numbered_key(2));
        EXPECT_EQ(rows[1].uses, 1U);
        EXPECT_EQ(rows[2].uses, 0U);
        EXPECT_EQ(admin::hottest(cache, 1).size(), 1U);
        EXPECT_TRUE(admin::hottest(cache, 0).empty());
        EXPECT_EQ(admin::info(cache, numbered_key(1))->uses, 2U);
        EXPECT_EQ(admin::info(cache, numbered_key(2))->uses, 1U);
    };
    {
        Cache cache = open_usual();
        put_all(cache, 1, 3, 10);
        for (const std::uint64_t number : {1U, 2U, 1U})
            EXPECT_TRUE(holds(cache, number, 10));
        expect_frequencies(cache);
        // Uses are told to the disk now and then; nothing may count them twice.
        cache.flush();
        expect_frequencies(cache);
        admin::maintain(cache);
        expect_frequencies(cache);
        admin::clear_memory(cache);
        expect_frequencies(cache);
    }
    Cache later = open_usual();
    expect_frequencies(later);
}

TEST_F(Moving, a_touch_is_one_use_in_every_tier_and_no_lookup)
{
    {
        Cache cache = open_usual();
        put(cache, 1, 10);
        EXPECT_FALSE(cache.touch(numbered_key(2)));
        EXPECT_TRUE(cache.touch(numbered_key(1)));
        EXPECT_EQ(cache.stats().lookups(), 0U);
        EXPECT_EQ(admin::info(cache, numbered_key(1))->uses, 1U) << "counted by two tiers, and still one use";
        EXPECT_TRUE(holds(cache, 1, 10));
        EXPECT_EQ(admin::info(cache, numbered_key(1))->uses, 2U);
        cache.flush();
        EXPECT_EQ(admin::info(cache, numbered_key(1))->uses, 2U);
        admin::clear_memory(cache);
        EXPECT_TRUE(cache.touch(numbered_key(1))) << "on disk alone";
    }
    Cache later = open_usual();
    EXPECT_EQ(admin::info(later, numbered_key(1))->uses, 3U);
}

TEST_F(Moving, what_was_touched_is_not_the_next_victim)
{
    Cache cache = two_tiers(100, 0);
    put(cache, 1, 40);
    put(cache, 2, 40);
    EXPECT_TRUE(cache.touch(numbered_key(1)));
    put(cache, 3, 40);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"fast"});
    EXPECT_EQ(admin::where(cache, numbered_key(2)), Names{"slow"});
}

TEST_F(Moving, recent_is_by_last_use_or_else_by_creation)
{
    Cache cache = open_usual();
    for (std::uint64_t number = 1; number <= 3; ++number) {
        put(cache, number, 10);
        m_clock.advance(1h);
        EXPECT_TRUE(number == 2 || holds(cache, number, 10));
    }
    m_clock.advance(1h);
    EXPECT_TRUE(cache.touch(numbered_key(1)));
    m_clock.advance(1h);
    ASSERT_TRUE(cache.insert(numbered_key(4), Artifact("new")).ok());
    const auto keys = [&](std::size_t count) {
        std::vector<Key> found;
        for (const EntryRow& row : admin::recent(cache, count))
            found.push_back(row.key);
        return found;
    };
    EXPECT_EQ(keys(10), (std::vector<Key>{numbered_key(4), numbered_key(1), numbered_key(3), numbered_key(2)}));
    EXPECT_EQ(keys(1), std::vector<Key>{numbered_key(4)});
    EXPECT_TRUE(keys(0).empty());
}

// A policy of a user's own that knows where it is, and admits nothing in the tier called "fast".
class RefusesFast final : public LargestFirst {
public:
    void set_tier(std::string_view name) override { m_tier = name; }
    bool admit(const Resident& /*entry*/) const override { return m_tier != "fast"; }
    bool promote(const Resident& /*entry*/) const override { return m_tier == "slow"; }

private:
    std::string m_tier;
};

TEST_F(Moving, a_policy_is_told_its_tier_and_may_refuse_what_is_promoted_by_hand)
{
    CacheOptions chosen = with({memory_named("fast", 0), memory_named("slow", 0), disk_here()});
    chosen.policy = [] { return std::make_unique<RefusesFast>(); };
    Cache cache = open(chosen);
    put(cache, 1, 10);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), (Names{"slow", "disk"}));
    EXPECT_EQ(cache.find(numbered_key(1)).promoted_to(), "");
    const MoveReport refused = admin::promote(cache, numbered_key(1));
    EXPECT_EQ(refused.outcome, MoveReport::Outcome::refused);
    EXPECT_NE(refused.reason.find("policy of tier \"fast\""), std::string::npos) << refused.reason;
    EXPECT_EQ(admin::where(cache, numbered_key(1)), (Names{"slow", "disk"}));

    ASSERT_TRUE(admin::set_policy(cache, "fast", lru()).ok());
    EXPECT_EQ(cache.find(numbered_key(1)).promoted_to(), "fast");
    ASSERT_TRUE(admin::set_policy(cache, "fast", chosen.policy).ok()) << "told again";
    put(cache, 2, 10);
    EXPECT_EQ(admin::where(cache, numbered_key(2)), (Names{"slow", "disk"}));
}

TEST_F(Moving, uses_in_memory_and_on_disk_add_up_across_restarts)
{
    for (std::uint32_t run = 1; run <= 3; ++run) {
        Cache cache = open_usual();
        if (run == 1)
            put(cache, 1, 10);
        for (int access = 0; access < 5; ++access)
            EXPECT_TRUE(holds(cache, 1, 10));
        EXPECT_EQ(admin::info(cache, numbered_key(1))->uses, 5 * run);
        if (run == 2)
            admin::clear_memory(cache);
        cache.flush();
        EXPECT_EQ(admin::info(cache, numbered_key(1))->uses, 5 * run);
    }
}

}  // namespace

}  // namespace hearth::test
