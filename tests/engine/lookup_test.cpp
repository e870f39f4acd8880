#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "hooked_tier.hpp"

#include <filesystem>
#include <map>

// Finding, inserting and removing, and which tiers hold what (10, 12, 13).

namespace hearth::test {

namespace {

class Lookups : public CacheTest {};

TEST_F(Lookups, the_time_of_insertion_is_kept_unless_the_artifact_has_one)
{
    Cache cache = open_usual();
    m_clock.advance(std::chrono::hours(5));
    ASSERT_TRUE(cache.insert(numbered_key(1), Artifact("now")).ok());
    Artifact older("before");
    older.created = ManualClock::k_start;
    ASSERT_TRUE(cache.insert(numbered_key(2), older).ok());
    EXPECT_EQ(cache.find(numbered_key(1))->created, ManualClock::k_start + std::chrono::hours(5));
    EXPECT_EQ(cache.find(numbered_key(2))->created, ManualClock::k_start);
}

TEST_F(Lookups, opaque_bytes_under_any_key_come_back_equal)
{
    const std::string megabyte(1'000'000, 'k');
    std::vector<std::string> names{"", "/", "../../etc/passwd", "a/b//c", "new\nline"};
    for (const std::string& odd : {std::string("nul\0inside", 10), std::string(1, '\xFF'), megabyte, megabyte + "k"})
        names.push_back(odd);
    names.emplace_back("\xC3\xA9\xC3\xA8 \xE6\xA0\xB8 \xF0\x9F\x94\xA5");
    {
        Cache cache = open_usual();
        for (const std::string& name : names)
            ASSERT_TRUE(cache.insert(Key::of("ir", name), Artifact("IR of " + name)).ok());
        for (const std::string& name : names)
            EXPECT_EQ(cache.find(Key::of("ir", name))->text(), "IR of " + name);
    }
    Cache later = open_usual();
    for (const std::string& name : names) {
        const Lookup found = later.find(Key::of("ir", name));
        ASSERT_TRUE(found.hit());
        EXPECT_EQ(found.tier(), "disk");
        EXPECT_EQ(found->text(), "IR of " + name);
    }
    EXPECT_EQ(status_of(later, "disk").usage.entries, names.size());
}

TEST_F(Lookups, an_artifact_may_be_empty)
{
    Cache cache = open_usual();
    ASSERT_TRUE(cache.insert(numbered_key(1), Artifact()).ok());
    ASSERT_TRUE(cache.insert(numbered_key(2), Artifact("")).ok());
    admin::clear_memory(cache);
    EXPECT_TRUE(cache.find(numbered_key(1))->sections.empty());
    EXPECT_EQ(cache.find(numbered_key(2))->sections.size(), 1U);
}

TEST_F(Lookups, insert_goes_to_the_fastest_tier_that_can_hold_it_and_to_every_persistent_one)
{
    Cache cache = open({memory_named("small", 100), memory_named("large", 1000), disk_here()});
    const InsertReport small = put(cache, 1, 100);
    EXPECT_EQ(small.tiers, (Names{"small", "disk"}));
    EXPECT_TRUE(small.refused.empty());
    const InsertReport medium = put(cache, 2, 101);
    EXPECT_EQ(medium.tiers, (Names{"large", "disk"}));
    EXPECT_EQ(medium.refused,
              (Names{"Entry of 101 bytes is larger than tier \"small\" can hold (100). Raise its capacity "
                     "or lower the entry's size."}));
    const InsertReport large = put(cache, 3, 1001);
    EXPECT_EQ(large.tiers, Names{"disk"});
    EXPECT_EQ(large.refused.size(), 2U);
    for (const auto& [number, size] : {std::pair{1U, 100U}, {2U, 101U}, {3U, 1001U}})
        EXPECT_TRUE(holds(cache, number, size));
}

TEST_F(Lookups, insert_into_a_named_tier_goes_there_and_nowhere_else)
{
    Cache cache = open({memory_named("fast", 0), memory_named("slow", 0), disk_here()});
    for (const std::string tier : {"slow", "disk", "fast"}) {
        EXPECT_EQ(put(cache, 1, 10, tier).tiers, Names{tier});
        EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{tier}) << "an older copy must not stay behind";
    }
    const Result<InsertReport> nowhere = cache.insert(numbered_key(1), Artifact("x"), {.tier = "vram"});
    EXPECT_EQ(code_of(nowhere), Code::not_found);
    EXPECT_NE(nowhere.error().message.find("\"vram\""), std::string::npos);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"fast"});
}

TEST_F(Lookups, too_large_for_every_tier_is_a_typed_error_that_disturbs_nothing)
{
    Cache cache = open({memory_named("fast", 100), memory_named("slow", 400)});
    put(cache, 1, 60);
    put(cache, 2, 300, "slow");
    const Stats before = cache.stats();
    const Result<InsertReport> refused = cache.insert(numbered_key(3), Artifact(std::string(401, 'x')));
    EXPECT_EQ(code_of(refused), Code::too_large);
    EXPECT_EQ(refused.error().message, "Entry of 401 bytes is larger than tier \"slow\" can hold (400). Raise its "
                                       "capacity or lower the entry's size.");
    EXPECT_TRUE(holds(cache, 1, 60));
    EXPECT_TRUE(holds(cache, 2, 300));
    EXPECT_EQ(status_of(cache, "fast").usage.bytes, 60U);
    EXPECT_EQ(status_of(cache, "slow").usage.bytes, 300U);
    EXPECT_EQ(cache.stats().stores, before.stores);
    EXPECT_TRUE(evictions().empty());
    EXPECT_TRUE(warnings().empty()) << "an entry that is too large is the caller's news, not the log's";
}

TEST_F(Lookups, an_oversized_replace_keeps_the_old_value)
{
    Cache cache = open({memory_named("fast", 100), disk_here(1000)});
    put(cache, 1, 80);
    EXPECT_FALSE(cache.insert(numbered_key(1), *sample_artifact(numbered_key(1), 5000, 1)).ok());
    EXPECT_EQ(admin::where(cache, numbered_key(1)), (Names{"fast", "disk"}));
    EXPECT_TRUE(holds(cache, 1, 80));
    const Artifact larger = *sample_artifact(numbered_key(1), 101, 1);
    EXPECT_EQ(code_of(cache.insert(numbered_key(1), larger, {.tier = "fast"})), Code::too_large);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), (Names{"fast", "disk"}));
    EXPECT_TRUE(holds(cache, 1, 80));
}

TEST_F(Lookups, a_replace_that_fits_only_the_lower_tier_removes_the_stale_upper_copy)
{
    Cache cache = open({memory_named("fast", 100), disk_here()});
    put(cache, 1, 100);
    EXPECT_EQ(put(cache, 1, 200, {}, 1).tiers, Names{"disk"});
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"disk"});
    EXPECT_TRUE(holds(cache, 1, 200, 1));
    EXPECT_EQ(status_of(cache, "fast").usage.bytes, 0U);
}

TEST_F(Lookups, a_tier_that_cannot_store_costs_its_copy_and_serves_no_older_one)
{
    std::optional<Error> broken;
    const auto fail = [&](const Key&) { return broken; };
    Cache cache = open({memory_named("fast", 0), hooked(disk_here(), {.store = fail})});
    put(cache, 1, 10);
    broken = Error{Code::io, "Cannot store: input/output error.", {}};
    const InsertReport report = put(cache, 1, 20, {}, 1);
    EXPECT_EQ(report.tiers, Names{"fast"});
    EXPECT_EQ(report.refused, Names{broken->message});
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"fast"});
    EXPECT_TRUE(holds(cache, 1, 20, 1));
    EXPECT_EQ(stats_of(cache, "disk").outages, 1U);
    put(cache, 2, 20);
    EXPECT_EQ(warnings(), Names{broken->message}) << "said once, however often it happens";
}

TEST_F(Lookups, remove_takes_the_entry_from_every_tier)
{
    Cache cache = open_usual();
    put_all(cache, 1, 2, 10);
    EXPECT_TRUE(cache.remove(numbered_key(1)));
    EXPECT_FALSE(cache.remove(numbered_key(1)));
    const Lookup found = cache.find(numbered_key(1));
    EXPECT_FALSE(found.hit());
    EXPECT_EQ(found.why(), Miss::absent);
    EXPECT_TRUE(found.tier().empty());
    EXPECT_FALSE(admin::info(cache, numbered_key(1)));
    EXPECT_TRUE(admin::where(cache, numbered_key(1)).empty());
    EXPECT_TRUE(holds(cache, 2, 10));
    EXPECT_EQ(status_of(cache, "disk").usage.entries, 1U);
}

TEST_F(Lookups, where_list_and_tiers_name_tiers_in_lookup_order_and_count_no_lookup)
{
    Cache cache = open({memory_named("fast", 100), memory_named("slow", 0), disk_here()});
    put(cache, 1, 10);
    put(cache, 2, 20, "slow");
    put(cache, 3, 30, "disk");
    EXPECT_EQ(admin::where(cache, numbered_key(1)), (Names{"fast", "disk"}));
    EXPECT_EQ(admin::where(cache, numbered_key(4)), Names{});
    std::map<Key, std::string> rows;
    admin::list(cache, [&](const EntryRow& row) { return rows.emplace(row.key, row.tier).second; });
    EXPECT_EQ(rows, (std::map<Key, std::string>{
                        {numbered_key(1), "fast"}, {numbered_key(2), "slow"}, {numbered_key(3), "disk"}}))
        << "each once, with the fastest tier that holds it";
    int visited = 0;
    admin::list(cache, [&](const EntryRow&) { return ++visited < 2; });
    EXPECT_EQ(visited, 2) << "a visitor that answers false is not called again, in no tier";
    std::vector<std::pair<std::string, bool>> persistent;
    for (const TierStatus& tier : admin::tiers(cache))
        persistent.emplace_back(tier.name, tier.traits.persistent);
    EXPECT_EQ(persistent,
              (std::vector<std::pair<std::string, bool>>{{"fast", false}, {"slow", false}, {"disk", true}}));
    EXPECT_EQ(status_of(cache, "fast").limits.max_bytes, 100U);
    EXPECT_EQ(cache.stats().lookups(), 0U);
    EXPECT_EQ(admin::info(cache, numbered_key(1))->uses, 0U);
}

TEST_F(Lookups, a_disabled_cache_misses_and_says_so_on_insert)
{
    CacheOptions off = options();
    off.caching = Switch::off;
    Cache cache = open(off);
    EXPECT_TRUE(admin::tiers(cache).empty());
    EXPECT_EQ(code_of(cache.insert(numbered_key(1), Artifact("x"))), Code::unavailable);
    EXPECT_FALSE(cache.find(numbered_key(1)).hit());
    EXPECT_FALSE(cache.remove(numbered_key(1)));
    EXPECT_EQ(to_string(admin::promote(cache, numbered_key(1)).outcome), "not found");
    cache.flush();
    admin::maintain(cache);
    admin::clear(cache);
    EXPECT_EQ(admin::verify(cache, Repair::yes).checked, 0U);
    EXPECT_EQ(admin::gc(cache, {.max_bytes = 0}).removed_entries, 0U);
    EXPECT_FALSE(std::filesystem::exists(directory()));
}

TEST_F(Lookups, two_tiers_of_one_name_are_refused)
{
    const Result<Cache> opened = Cache::open(with({memory(100), memory(400)}));
    ASSERT_EQ(code_of(opened), Code::invalid_argument);
    EXPECT_NE(opened.error().message.find("\"memory\""), std::string::npos);
}

TEST_F(Lookups, a_tier_has_a_name_that_statistics_and_command_lines_can_carry)
{
    for (const char* name : {"", "a tier", "disk.latency.0", "a\nb"})
        EXPECT_EQ(code_of(Cache::open(with({memory_named(name, 100)}))), Code::invalid_argument) << name;
}

TEST_F(Lookups, a_ninth_tier_is_left_out_and_said)
{
    std::vector<TierSpec> tiers;
    for (int i = 1; i <= 9; ++i)
        tiers.push_back(memory_named("m" + std::to_string(i), 0));
    Cache cache = open(tiers);
    EXPECT_EQ(admin::tiers(cache).size(), 8U);
    ASSERT_EQ(warnings().size(), 1U);
    EXPECT_NE(warnings()[0].find("\"m9\""), std::string::npos);
    put(cache, 1, 10);
    EXPECT_TRUE(holds(cache, 1, 10));
}

}  // namespace

}  // namespace hearth::test
