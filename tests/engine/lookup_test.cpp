#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "hooked_tier.hpp"

#include <filesystem>
#include <map>

// Finding, inserting and removing, and which tiers hold what (10, 12, 13).

namespace hearth::test {

namespace {

class Lookups : public CacheTest {};

TEST_F(Lookups, a_key_nobody_inserted_is_a_miss_that_says_absent)
{
    Cache cache = open_usual();
    const Lookup found = cache.find(numbered_key(1));
    EXPECT_FALSE(found.hit());
    EXPECT_EQ(found.why(), Miss::absent);
    EXPECT_TRUE(found.tier().empty());
    EXPECT_FALSE(admin::info(cache, numbered_key(1)));
    EXPECT_TRUE(admin::where(cache, numbered_key(1)).empty());
}

TEST_F(Lookups, what_was_inserted_comes_back_whole)
{
    Artifact artifact;
    artifact.sections = {
        {"ptx", Bytes::copy_of(".version 8.0")}, {"cubin", Bytes::copy_of(std::string(5000, '\0'))}, {"log", {}}};
    artifact.metadata = {"saxpy", "nvrtc 12.4", "sm_90a", {"-std=c++20", ""}};
    artifact.cost = std::chrono::milliseconds(137);
    artifact.created = ManualClock::k_start;
    artifact.expires = ManualClock::k_start + std::chrono::hours(1);
    const Request request = Request::of("test", "whole");
    artifact.request = request.encoding();
    Cache cache = open_usual();
    ASSERT_TRUE(cache.insert(request, artifact).ok());

    Lookup from_memory = cache.find(request);
    ASSERT_TRUE(from_memory.hit());
    EXPECT_EQ(*from_memory, artifact);
    EXPECT_EQ(from_memory.tier(), "memory");
    admin::clear_memory(cache);
    Lookup from_disk = cache.find(request);
    ASSERT_TRUE(from_disk.hit());
    EXPECT_EQ(*from_disk, artifact);
    EXPECT_EQ(from_disk.tier(), "disk");
}

TEST_F(Lookups, an_entry_of_a_request_can_be_explained_field_by_field)
{
    const Request request = Request::of("test", "saxpy", std::vector<std::string>{"-O3", "-lineinfo"}, 90);
    Cache cache = open_usual();
    ASSERT_TRUE(cache.insert(request, Artifact("cubin")).ok());
    admin::clear_memory(cache);
    const Lookup found = cache.find(request);
    ASSERT_TRUE(found.hit());
    EXPECT_EQ(Request(request.key(), found->request).fields(), request.fields());
}

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
    const std::vector<std::string> names{"",
                                         "/",
                                         "../../etc/passwd",
                                         "a/b//c",
                                         "\xC3\xA9\xC3\xA8 \xE6\xA0\xB8 \xF0\x9F\x94\xA5",
                                         std::string("nul\0inside", 10),
                                         std::string(1, '\xFF'),
                                         "new\nline",
                                         megabyte,
                                         megabyte + "k"};
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
    ASSERT_FALSE(nowhere.ok());
    EXPECT_EQ(nowhere.error().code, Code::not_found);
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
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::too_large);
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
    const Result<InsertReport> named =
        cache.insert(numbered_key(1), *sample_artifact(numbered_key(1), 101, 1), {.tier = "fast"});
    ASSERT_FALSE(named.ok());
    EXPECT_EQ(named.error().code, Code::too_large);
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

TEST_F(Lookups, replacing_100_bytes_by_200_accounts_200)
{
    Cache cache = open({memory_named("fast", 1000), disk_here()});
    put(cache, 1, 100);
    put(cache, 1, 200, {}, 1);
    EXPECT_EQ(status_of(cache, "fast").usage.bytes, 200U);
    EXPECT_EQ(status_of(cache, "fast").usage.entries, 1U);
    EXPECT_EQ(status_of(cache, "disk").usage.entries, 1U);
    EXPECT_TRUE(holds(cache, 1, 200, 1));
    EXPECT_TRUE(admin::verify(cache, Repair::no).accounting_exact);
}

TEST_F(Lookups, a_tier_that_cannot_store_costs_its_copy_and_serves_no_older_one)
{
    std::optional<Error> broken;
    TierHooks hooks;
    hooks.store = [&](const Key&) { return broken; };
    Cache cache = open({memory_named("fast", 0), hooked(disk_here(), hooks)});
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
    put(cache, 1, 10);
    put(cache, 2, 10);
    EXPECT_TRUE(cache.remove(numbered_key(1)));
    EXPECT_FALSE(cache.remove(numbered_key(1)));
    EXPECT_FALSE(cache.find(numbered_key(1)).hit());
    EXPECT_TRUE(admin::where(cache, numbered_key(1)).empty());
    EXPECT_TRUE(holds(cache, 2, 10));
    EXPECT_EQ(status_of(cache, "disk").usage.entries, 1U);
}

TEST_F(Lookups, where_lists_tiers_in_lookup_order_and_counts_no_lookup)
{
    Cache cache = open({memory_named("fast", 0), memory_named("slow", 0), disk_here()});
    put(cache, 1, 10);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), (Names{"fast", "disk"}));
    EXPECT_EQ(admin::where(cache, numbered_key(2)), Names{});
    EXPECT_EQ(cache.stats().lookups(), 0U);
    EXPECT_EQ(admin::info(cache, numbered_key(1))->uses, 0U);
}

TEST_F(Lookups, list_names_every_entry_once_with_the_fastest_tier_that_holds_it)
{
    Cache cache = open({memory_named("fast", 0), memory_named("slow", 0), disk_here()});
    put(cache, 1, 10);
    put(cache, 2, 20, "slow");
    put(cache, 3, 30, "disk");
    std::map<Key, std::string> rows;
    admin::list(cache, [&](const EntryRow& row) { return rows.emplace(row.key, row.tier).second; });
    EXPECT_EQ(rows, (std::map<Key, std::string>{
                        {numbered_key(1), "fast"}, {numbered_key(2), "slow"}, {numbered_key(3), "disk"}}));
    int visited = 0;
    admin::list(cache, [&](const EntryRow&) { return ++visited < 2; });
    EXPECT_EQ(visited, 2) << "a visitor that answers false is not called again, in no tier";
}

TEST_F(Lookups, tiers_tell_name_capacity_and_use)
{
    Cache cache = open({memory_named("fast", 100), disk_here(1_MiB)});
    put(cache, 1, 60);
    const std::vector<TierStatus> tiers = admin::tiers(cache);
    ASSERT_EQ(tiers.size(), 2U);
    EXPECT_EQ(tiers[0].name, "fast");
    EXPECT_FALSE(tiers[0].traits.persistent);
    EXPECT_EQ(tiers[0].limits.max_bytes, 100U);
    EXPECT_EQ(tiers[0].usage.bytes, 60U);
    EXPECT_EQ(tiers[0].usage.entries, 1U);
    EXPECT_EQ(tiers[1].name, "disk");
    EXPECT_TRUE(tiers[1].traits.persistent);
    EXPECT_EQ(tiers[1].limits.max_bytes, 1_MiB);
    EXPECT_EQ(tiers[1].usage.bytes, std::filesystem::file_size(file_of(numbered_key(1))));
}

TEST_F(Lookups, a_cache_can_be_moved)
{
    Cache first = open_usual();
    put(first, 1, 10);
    Cache second = std::move(first);
    EXPECT_TRUE(holds(second, 1, 10));
    Cache third = open({memory(0)});
    third = std::move(second);
    EXPECT_TRUE(holds(third, 1, 10));
}

TEST_F(Lookups, a_disabled_cache_misses_and_says_so_on_insert)
{
    CacheOptions off = options();
    off.caching = Switch::off;
    Cache cache = open(off);
    EXPECT_TRUE(admin::tiers(cache).empty());
    const Result<InsertReport> inserted = cache.insert(numbered_key(1), Artifact("x"));
    ASSERT_FALSE(inserted.ok());
    EXPECT_EQ(inserted.error().code, Code::unavailable);
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
    CacheOptions twice = options();
    twice.tiers = {memory(100), memory(400)};
    const Result<Cache> opened = Cache::open(twice);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, Code::invalid_argument);
    EXPECT_NE(opened.error().message.find("\"memory\""), std::string::npos);
}

TEST_F(Lookups, a_tier_has_a_name_that_statistics_and_command_lines_can_carry)
{
    for (const char* name : {"", "a tier", "disk.latency.0", "a\nb"}) {
        CacheOptions odd = options();
        odd.tiers = {memory({.name = name, .max_bytes = 100})};
        const Result<Cache> opened = Cache::open(odd);
        ASSERT_FALSE(opened.ok()) << name;
        EXPECT_EQ(opened.error().code, Code::invalid_argument);
    }
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
