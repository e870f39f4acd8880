#include "engine/stack/writes.hpp"

#include "hearth/admin.hpp"
#include "hearth/prewarm.hpp"
#include "hearth/vram.hpp"

#include "cache_test.hpp"
#include "hooked_tier.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"

#include <atomic>
#include <map>
#include <random>
#include <thread>

// An insert or a remove that has returned is not undone by a copy that was under way: one case for each kind of copy.
// Each writes at the moment between reading and storing.

namespace hearth::test {

namespace {

using engine::Writes;

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
        EXPECT_TRUE(
            eventually("it waits for the copy", [&] { return !Writes::Copy(writes, numbered_key(2), writes.now()); }));
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
    static const char* name_of(Change change)
    {
        return change == Change::insert ? "insert" : change == Change::remove ? "remove" : "clear";
    }

    void change_one(Cache& cache)
    {
        if (m_change == Change::insert)
            put(cache, 1, 100, {}, 2);
        else if (m_change == Change::remove)
            EXPECT_TRUE(cache.remove(numbered_key(1)));
        else
            admin::clear(cache);
    }
    // A hook that changes key 1 when it is called for the n-th time with that key.
    std::function<void(const Key&)> change_at(int nth)
    {
        return [this, nth, calls = std::make_shared<int>(0)](const Key& key) {
            if (m_cache && key == numbered_key(1) && ++*calls == nth)
                change_one(*m_cache);
        };
    }
    // Stores key 1's first version in `tier`, lets `move` begin a copy of it, and expects that the change won.
    void expect_change_wins(const std::function<std::vector<TierSpec>()>& tiers, const std::string& tier,
                            const std::function<void(Cache&)>& move,
                            const std::vector<Change>& changes = {Change::insert, Change::remove, Change::clear})
    {
        for (const Change change : changes) {
            SCOPED_TRACE(name_of(change));
            m_change = change;
            Cache cache = open(tiers());
            cache.remove(numbered_key(1));
            m_cache = &cache;
            put(cache, 1, 100, tier, 1);
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
    static void find(Cache& cache) { EXPECT_TRUE(cache.find(numbered_key(1)).hit()); }

    Cache* m_cache = nullptr;
    Change m_change = Change::insert;
};

TEST_F(WritesWin, over_a_promoting_hit)
{
    const auto tiers = [&] {
        return std::vector{memory_named("fast", 0), hooked(memory_named("slow", 0), {.found = change_at(3)})};
    };
    expect_change_wins(tiers, "slow", [](Cache& cache) {
        for (int i = 0; i < 3; ++i)
            find(cache);
    });
}

TEST_F(WritesWin, over_a_promotion_by_hand)
{
    const auto tiers = [&] {
        return std::vector{memory_named("fast", 0), hooked(memory_named("slow", 0), {.peeked = change_at(1)})};
    };
    expect_change_wins(tiers, "slow", [](Cache& cache) {
        EXPECT_EQ(admin::promote(cache, numbered_key(1)).outcome, MoveReport::Outcome::refused);
    });
}

TEST_F(WritesWin, over_a_demotion_by_hand)
{
    const auto tiers = [&] {
        return std::vector{hooked(memory_named("fast", 0), {.peeked = change_at(1)}), memory_named("slow", 0)};
    };
    expect_change_wins(tiers, "fast", [](Cache& cache) {
        EXPECT_EQ(admin::demote(cache, numbered_key(1)).outcome, MoveReport::Outcome::refused);
    });
}

TEST_F(WritesWin, over_a_victim_on_its_way_down)
{
    for (const Change change : {Change::insert, Change::remove, Change::clear}) {
        SCOPED_TRACE(name_of(change));
        Cache* known = nullptr;
        const auto change_one = [&](const Key& key) {
            Cache* const cache = key == numbered_key(1) ? std::exchange(known, nullptr) : nullptr;
            if (cache && change == Change::insert)
                put(*cache, 1, 100, {}, 2);
            else if (cache && change == Change::remove)
                EXPECT_FALSE(cache->remove(key)) << "it is in no tier just now";
            else if (cache)
                admin::clear(*cache);
        };
        Cache cache = open({memory_named("fast", 150), hooked(memory_named("slow", 0), {.contains = change_one})});
        put(cache, 1, 100, "fast", 1);
        known = &cache;
        put(cache, 2, 100);
        EXPECT_EQ(known, nullptr) << "it came down";
        EXPECT_EQ(holds(cache, 1, 100, 2), change == Change::insert);
        const bool moved = admin::demote(cache, numbered_key(1)).outcome == MoveReport::Outcome::moved;
        EXPECT_EQ(moved, change == Change::insert);
        EXPECT_EQ(holds(cache, 1, 100, 2), change == Change::insert) << "the first version came down in the meantime";
        EXPECT_EQ(admin::where(cache, numbered_key(1)).empty(), change != Change::insert);
    }
}

TEST_F(WritesWin, over_what_a_server_brings)
{
    const auto tiers = [&] {
        const TierTraits remote{.persistent = true, .remote = true};
        return std::vector{memory(0), hooked(disk_here(), {.found = change_at(1), .traits = remote})};
    };
    expect_change_wins(tiers, "disk", find, {Change::insert, Change::remove});
    m_change = Change::clear;
    Cache cache = open(tiers());
    m_cache = &cache;
    put(cache, 1, 100, "disk", 1);
    find(cache);
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
    const auto insert_too_much = [&](const Key& key) {
        EXPECT_FALSE(known && known->insert(key, Artifact(sample_bytes(key, 5000))).ok());
    };
    Cache cache = open_eager({memory(1000), hooked(disk_here(1000), {.found = insert_too_much})});
    put(cache, 1, 100, "disk");
    known = &cache;
    EXPECT_EQ(cache.find(numbered_key(1)).promoted_to(), "memory");
    EXPECT_TRUE(holds(cache, 1, 100));
}

TEST_F(WritesWin, but_not_an_insert_that_device_memory_did_not_take)
{
    Cache* known = nullptr;
    const auto insert_too_much = [&](const Key& key) {
        EXPECT_FALSE(known && known->vram().insert(key, Artifact(sample_bytes(key, 5000))).ok());
    };
    Cache cache = open_eager(
        {vram({.backend = device::Backend::host, .max_bytes = 1000}), hooked(disk_here(), {.found = insert_too_much})});
    put(cache, 1, 100, "disk");
    known = &cache;
    EXPECT_EQ(cache.find(numbered_key(1)).promoted_to(), "vram");
    known = nullptr;
    ASSERT_TRUE(cache.vram().insert(numbered_key(2), Artifact("in device memory")).ok());
    EXPECT_EQ(admin::info(cache, numbered_key(2))->metadata.writer, HEARTH_VERSION) << "as of every insert";
}

TEST_F(WritesWin, over_a_prewarming)
{
    const auto tiers = [&] { return std::vector{memory(0), hooked(disk_here(), {.peeked = change_at(1)})}; };
    expect_change_wins(tiers, "disk",
                       [](Cache& cache) { prewarm(cache, {numbered_key(1)}, {.tier = "memory"}).wait(); });
}

TEST_F(WritesWin, over_a_load_into_device_memory)
{
    const auto tiers = [&] {
        return std::vector{vram({.backend = device::Backend::host, .max_bytes = 1_MiB}),
                           hooked(disk_here(), {.found = change_at(1)})};
    };
    expect_change_wins(tiers, "disk", [](Cache& cache) { EXPECT_FALSE(cache.vram().load(numbered_key(1)).ok()); });
}

TEST_F(WritesWin, clearing_memory_over_a_promoting_hit)
{
    Cache* known = nullptr;
    Cache cache =
        open_eager({memory(0), hooked(disk_here(), {.found = [&](const Key&) { admin::clear_memory(*known); }})});
    known = &cache;
    put(cache, 1, 100, "disk");
    find(cache);
    EXPECT_EQ(admin::where(cache, numbered_key(1)), Names{"disk"}) << "it was read before memory was cleared";
    EXPECT_EQ(cache.find(numbered_key(2)).why(), Miss::absent);
}

TEST_F(WritesWin, clearing_beside_lookups_that_promote)
{
    Cache cache = open_eager({memory(0), disk_here()});
    std::vector<std::jthread> readers;
    for (int i = 0; i < 3; ++i)
        readers.emplace_back([&](const std::stop_token& stop) {
            while (!stop.stop_requested())
                for (std::uint64_t key = 0; key < 8; ++key)
                    static_cast<void>(cache.find(numbered_key(key)));
        });
    int came_back = 0;
    for (std::uint64_t round = 0; round < scaled(100); ++round) {
        put_all(cache, 0, 7, 100, "disk");
        admin::clear(cache);
        for (std::uint64_t key = 0; key < 8; ++key)
            came_back += admin::where(cache, numbered_key(key)).empty() ? 0 : 1;
    }
    EXPECT_EQ(came_back, 0);
}

}  // namespace

}  // namespace hearth::test
