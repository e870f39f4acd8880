#include "engine/stack/writes.hpp"

#include "hearth/admin.hpp"
#include "hearth/prewarm.hpp"
#include "hearth/vram.hpp"

#include "cache_test.hpp"
#include "hooked_tier.hpp"
#include "support/scale.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <thread>

// An insert or a remove that has returned is not undone by a copy that was under way: one case for each kind of copy.
// Each writes at the moment between reading and storing.

namespace hearth::test {

namespace {

using engine::Writes;

TEST(Writes, a_copy_that_was_read_before_a_write_is_refused)
{
    Writes writes;
    const Writes::Ticket before = writes.now();
    EXPECT_TRUE(Writes::Copy(writes, numbered_key(1), before));
    {
        const Writes::Write write(writes, numbered_key(1));
    }
    EXPECT_FALSE(Writes::Copy(writes, numbered_key(1), before));
    EXPECT_TRUE(Writes::Copy(writes, numbered_key(1), writes.now()));
    EXPECT_TRUE(Writes::Copy(writes, numbered_key(2), before)) << "another key is another matter";
}

TEST(Writes, one_that_changed_nothing_refuses_no_copy_afterwards)
{
    Writes writes;
    const Writes::Ticket before = writes.now();
    {
        Writes::Write write(writes, numbered_key(1));
        write.changed_nothing();
        EXPECT_FALSE(Writes::Copy(writes, numbered_key(1), before)) << "nobody knows yet";
    }
    EXPECT_TRUE(Writes::Copy(writes, numbered_key(1), before));
    EXPECT_EQ(writes.now(), before);
}

TEST(Writes, while_a_key_is_written_it_is_not_copied)
{
    Writes writes;
    const Writes::Write write(writes, numbered_key(1));
    EXPECT_FALSE(Writes::Copy(writes, numbered_key(1), writes.now()));
    EXPECT_TRUE(Writes::Copy(writes, numbered_key(2), writes.now()));
}

TEST(Writes, while_all_is_written_nothing_is_copied_and_nothing_that_was_read_before)
{
    Writes writes;
    const Writes::Ticket before = writes.now();
    {
        const Writes::WriteAll write(writes);
        EXPECT_FALSE(Writes::Copy(writes, numbered_key(1), writes.now()));
    }
    EXPECT_FALSE(Writes::Copy(writes, numbered_key(1), before));
    EXPECT_TRUE(Writes::Copy(writes, numbered_key(1), writes.now()));
}

TEST(Writes, all_is_written_once_no_copy_is_under_way)
{
    Writes writes;
    std::atomic<bool> copied{false};
    std::jthread clearing;
    {
        const Writes::Copy copy(writes, numbered_key(1), writes.now());
        ASSERT_TRUE(copy);
        clearing = std::jthread([&] {
            const Writes::WriteAll write(writes);
            EXPECT_TRUE(copied.load());
        });
        // From here on it waits for the copy.
        while (Writes::Copy(writes, numbered_key(2), writes.now()))
            std::this_thread::yield();
        copied = true;
    }
}

// Keys that are written again and again, keys that are written once, and many that share a slot.
TEST(Writes, a_copy_never_undoes_a_write_and_is_refused_for_one_of_its_slot_only)
{
    Writes writes;
    std::mt19937_64 random(1);
    std::vector<Key> keys;
    for (std::uint64_t i = 0; i < Writes::k_slots; ++i)
        keys.push_back(numbered_key(i));
    const auto slot_of = [](const Key& key) { return key.word(0) % Writes::k_slots; };
    std::map<std::uint64_t, Writes::Ticket> last;
    for (std::uint64_t number = 1; number <= 2 * Writes::k_slots; ++number) {
        const Key& key = keys[random() % 4 == 0 ? random() % 8 : random() % keys.size()];
        {
            const Writes::Write write(writes, key);
        }
        last[slot_of(key)] = number;
        ASSERT_EQ(writes.now(), number);
        const Key& asked = random() % 2 == 0 ? key : keys[random() % keys.size()];
        const Writes::Ticket newest = last[slot_of(asked)];
        for (const Writes::Ticket read : {newest, number, random() % (number + 1)})
            ASSERT_EQ(static_cast<bool>(Writes::Copy(writes, asked, read)), read >= newest) << number << " " << read;
    }
}

class WritesWin : public CacheTest {
protected:
    enum class Change { insert, remove, clear };

    // A hook that changes key 1 when it is called for the n-th time with that key.
    std::function<void(const Key&)> change_at(int nth)
    {
        return [this, nth, calls = std::make_shared<int>(0)](const Key& key) {
            if (!m_cache || key != numbered_key(1) || ++*calls != nth)
                return;
            if (m_change == Change::insert)
                put(*m_cache, 1, 100, {}, 2);
            else if (m_change == Change::remove)
                EXPECT_TRUE(m_cache->remove(key));
            else
                admin::clear(*m_cache);
        };
    }
    // Opens the tiers, lets `move` begin a copy of key 1's first version, and expects that the change won.
    void expect_change_wins(const std::function<std::vector<TierSpec>()>& tiers,
                            const std::function<void(Cache&)>& move,
                            const std::vector<Change>& changes = {Change::insert, Change::remove, Change::clear})
    {
        for (const Change change : changes) {
            SCOPED_TRACE(change == Change::insert ? "insert" : change == Change::remove ? "remove" : "clear");
            m_change = change;
            m_cache = nullptr;
            Cache cache = open(tiers());
            cache.remove(numbered_key(1));
            m_cache = &cache;
            move(cache);
            m_cache = nullptr;
            if (change == Change::insert)
                EXPECT_TRUE(holds(cache, 1, 100, 2));
            else
                EXPECT_TRUE(admin::where(cache, numbered_key(1)).empty());
            admin::clear_memory(cache);
            EXPECT_FALSE(holds(cache, 1, 100, 1)) << "the first version is nowhere";
        }
    }

    Cache* m_cache = nullptr;
    Change m_change = Change::insert;
};

TEST_F(WritesWin, over_a_promoting_hit)
{
    expect_change_wins(
        [&] {
            return std::vector{memory_named("fast", 0), hooked(memory_named("slow", 0), {.found = change_at(3)})};
        },
        [](Cache& cache) {
            put(cache, 1, 100, "slow", 1);
            for (int i = 0; i < 3; ++i)
                EXPECT_TRUE(cache.find(numbered_key(1)).hit());
        });
}

TEST_F(WritesWin, over_a_promotion_by_hand)
{
    expect_change_wins(
        [&] {
            return std::vector{memory_named("fast", 0), hooked(memory_named("slow", 0), {.peeked = change_at(1)})};
        },
        [](Cache& cache) {
            put(cache, 1, 100, "slow", 1);
            EXPECT_EQ(admin::promote(cache, numbered_key(1)).outcome, MoveReport::Outcome::refused);
        });
}

TEST_F(WritesWin, over_a_demotion_by_hand)
{
    expect_change_wins(
        [&] {
            return std::vector{hooked(memory_named("fast", 0), {.peeked = change_at(1)}), memory_named("slow", 0)};
        },
        [](Cache& cache) {
            put(cache, 1, 100, "fast", 1);
            EXPECT_EQ(admin::demote(cache, numbered_key(1)).outcome, MoveReport::Outcome::refused);
        });
}

TEST_F(WritesWin, over_a_victim_on_its_way_down)
{
    m_change = Change::insert;
    Cache cache = open({memory_named("fast", 150), hooked(memory_named("slow", 0), {.contains = change_at(1)})});
    put(cache, 1, 100, "fast", 1);
    m_cache = &cache;
    put(cache, 2, 100);
    m_cache = nullptr;
    EXPECT_TRUE(holds(cache, 1, 100, 2));
    EXPECT_EQ(admin::demote(cache, numbered_key(1)).outcome, MoveReport::Outcome::moved);
    EXPECT_TRUE(holds(cache, 1, 100, 2)) << "the first version had not come down in the meantime";
}

TEST_F(WritesWin, over_a_victim_that_is_removed_on_its_way_down)
{
    for (const bool clears : {false, true}) {
        SCOPED_TRACE(clears ? "clear" : "remove");
        Cache* known = nullptr;
        const auto change = [&](const Key& key) {
            if (known == nullptr || key != numbered_key(1))
                return;
            if (clears)
                admin::clear(*known);
            else
                EXPECT_FALSE(known->remove(key)) << "it is in no tier just now";
        };
        Cache cache = open({memory_named("fast", 150), hooked(memory_named("slow", 0), {.contains = change})});
        put(cache, 1, 100, "fast", 1);
        known = &cache;
        put(cache, 2, 100);
        known = nullptr;
        EXPECT_TRUE(admin::where(cache, numbered_key(1)).empty());
    }
}

TEST_F(WritesWin, over_what_a_server_brings)
{
    const auto tiers = [&] {
        const TierTraits remote{.persistent = true, .remote = true};
        return std::vector{memory(0), hooked(disk_here(), {.found = change_at(1), .traits = remote})};
    };
    const auto fetch = [](Cache& cache) {
        put(cache, 1, 100, "disk", 1);
        EXPECT_TRUE(cache.find(numbered_key(1)).hit());
    };
    expect_change_wins(tiers, fetch, {Change::insert, Change::remove});
    m_change = Change::clear;
    Cache cache = open(tiers());
    m_cache = &cache;
    fetch(cache);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"disk"}) << "what the server has stays there alone";
}

TEST_F(WritesWin, a_removal_on_this_machine_leaves_servers_alone_and_so_does_an_insert_into_device_memory)
{
    const TierTraits remote{.persistent = true, .remote = true};
    Cache cache = open({vram({.backend = device::Backend::host, .max_bytes = 1_MiB}), memory(0),
                        hooked(disk_here(), {.traits = remote})});
    put(cache, 1, 100);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), (Names{"vram", "disk"}));
    EXPECT_TRUE(cache.remove(numbered_key(1), Reach::this_machine));
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"disk"});
    EXPECT_TRUE(cache.vram().insert(numbered_key(1), Artifact("in device memory")).ok());
    EXPECT_EQ(admin::where(cache, numbered_key(1)), (Names{"vram", "disk"}));
    EXPECT_TRUE(cache.remove(numbered_key(1)));
    EXPECT_TRUE(admin::where(cache, numbered_key(1)).empty());
}

TEST_F(WritesWin, but_not_an_insert_that_no_tier_took)
{
    Cache* known = nullptr;
    CacheOptions chosen = options();
    chosen.promote_after = 1;
    const auto insert_too_much = [&](const Key& key) {
        EXPECT_FALSE(known && known->insert(key, Artifact(sample_bytes(key, 5000))).ok());
    };
    chosen.tiers = {memory(1000), hooked(disk_here(1000), {.found = insert_too_much})};
    Cache cache = open(chosen);
    put(cache, 1, 100, "disk");
    known = &cache;
    EXPECT_EQ(cache.find(numbered_key(1)).promoted_to(), "memory");
    EXPECT_TRUE(holds(cache, 1, 100));
}

TEST_F(WritesWin, but_not_an_insert_that_device_memory_did_not_take)
{
    Cache* known = nullptr;
    CacheOptions chosen = options();
    chosen.promote_after = 1;
    const auto insert_too_much = [&](const Key& key) {
        EXPECT_FALSE(known && known->vram().insert(key, Artifact(sample_bytes(key, 5000))).ok());
    };
    chosen.tiers = {vram({.backend = device::Backend::host, .max_bytes = 1000}),
                    hooked(disk_here(), {.found = insert_too_much})};
    Cache cache = open(chosen);
    put(cache, 1, 100, "disk");
    known = &cache;
    EXPECT_EQ(cache.find(numbered_key(1)).promoted_to(), "vram");
    known = nullptr;
    ASSERT_TRUE(cache.vram().insert(numbered_key(2), Artifact("in device memory")).ok());
    EXPECT_EQ(admin::info(cache, numbered_key(2))->metadata.writer, HEARTH_VERSION) << "as of every insert";
}

TEST_F(WritesWin, over_a_prewarming)
{
    expect_change_wins(
        [&] {
            return std::vector{memory(0), hooked(disk_here(), {.peeked = change_at(1)})};
        },
        [](Cache& cache) {
            put(cache, 1, 100, "disk", 1);
            prewarm(cache, {numbered_key(1)}, {.tier = "memory"}).wait();
        });
}

TEST_F(WritesWin, over_a_load_into_device_memory)
{
    expect_change_wins(
        [&] {
            return std::vector{vram({.backend = device::Backend::host, .max_bytes = 1_MiB}),
                               hooked(disk_here(), {.found = change_at(1)})};
        },
        [](Cache& cache) {
            put(cache, 1, 100, "disk", 1);
            EXPECT_FALSE(cache.vram().load(numbered_key(1)).ok());
        });
}

TEST_F(WritesWin, clearing_memory_over_a_promoting_hit)
{
    CacheOptions chosen = options();
    chosen.promote_after = 1;
    Cache* known = nullptr;
    chosen.tiers = {memory(0), hooked(disk_here(), {.found = [&](const Key&) { admin::clear_memory(*known); }})};
    Cache cache = open(chosen);
    known = &cache;
    put(cache, 1, 100, "disk");
    EXPECT_TRUE(cache.find(numbered_key(1)).hit());
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"disk"}) << "it was read before memory was cleared";
    EXPECT_TRUE(cache.find(numbered_key(2)).why() == Miss::absent);
}

// Lookups that promote, while another thread clears: whatever clear() began with is gone when it returns.
TEST_F(WritesWin, clearing_beside_lookups_that_promote)
{
    CacheOptions chosen = options();
    chosen.promote_after = 1;
    chosen.tiers = {memory(0), disk_here()};
    Cache cache = open(chosen);
    std::atomic<bool> ends{false};
    std::vector<std::jthread> readers;
    for (int i = 0; i < 3; ++i)
        readers.emplace_back([&] {
            while (!ends.load())
                for (std::uint64_t key = 0; key < 8; ++key)
                    static_cast<void>(cache.find(numbered_key(key)));
        });
    int came_back = 0;
    for (std::uint64_t round = 0; round < scaled(100); ++round) {
        for (std::uint64_t key = 0; key < 8; ++key)
            put(cache, key, 100, "disk");
        admin::clear(cache);
        for (std::uint64_t key = 0; key < 8; ++key)
            came_back += admin::where(cache, numbered_key(key)).empty() ? 0 : 1;
    }
    ends = true;
    EXPECT_EQ(came_back, 0);
}

}  // namespace

}  // namespace hearth::test
