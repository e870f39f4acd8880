#include "redis_fixture.hpp"
#include "shared_cluster.hpp"
#include "support/eventually.hpp"
#include "tiers/redis/redis_answers.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

namespace hearth::test {

namespace {

class RedisClusterStore : public testing::Test {
protected:
    void SetUp() override
    {
        m_cluster = shared_cluster();
        if (!m_cluster)
            GTEST_SKIP() << not_installed("redis-server");
        m_store = store_at("redis+cluster://" + m_cluster->hosts());
    }

    static std::string key_of(const std::string& name) { return "hearth:" + name; }
    static std::string slot_of(const std::string& name) { return std::to_string(tiers::redis::slot_of(key_of(name))); }

    std::size_t another_master_than(std::size_t master) const
    {
        for (std::uint64_t i = 0; i < 1000; ++i)
            if (const std::size_t other = m_cluster->master_of(name_for(i)); other != master)
                return other;
        return RedisCluster::k_nodes;
    }

    // Hands a slot over as redis-cli would, but for the keys in it.
    void begin_to_move(const std::string& slot, std::size_t from, std::size_t to) const
    {
        set_slot(to, slot, {"IMPORTING", m_cluster->id_of(from)});
        set_slot(from, slot, {"MIGRATING", m_cluster->id_of(to)});
    }
    void move_slot(const std::string& slot, std::size_t from, std::size_t to) const
    {
        begin_to_move(slot, from, to);
        for (const std::size_t node : {to, from})
            set_slot(node, slot, {"NODE", m_cluster->id_of(to)});
    }
    void set_slot(std::size_t node, const std::string& slot, const std::vector<std::string>& how) const
    {
        std::vector<std::string> words{"CLUSTER", "SETSLOT", slot};
        words.insert(words.end(), how.begin(), how.end());
        EXPECT_EQ(redis_cli(m_cluster->port(node), words), "OK");
    }

    // What was not copied yet when its master dies is lost with it, and no fault of ours.
    bool wait_for_replicas(std::uint64_t objects) const
    {
        return eventually("every replica has its master's", [&] {
            std::uint64_t sum = 0;
            for (std::size_t i = 0; i < RedisCluster::k_nodes; ++i)
                sum += std::stoul(redis_cli(m_cluster->port(i), {"DBSIZE"}));
            return sum == 2 * objects;
        });
    }

    RedisCluster* m_cluster = nullptr;
    std::unique_ptr<remotes::RemoteStore> m_store;
};

}  // namespace

TEST_F(RedisClusterStore, says_what_it_talks_to_and_follows_a_slot_that_moved)
{
    const std::string name = name_for(1);
    EXPECT_EQ(m_store->description(), "redis cluster at " + m_cluster->hosts());
    ASSERT_FALSE(m_store->get(name, soon()).value().has_value()) << "now it has the map";
    const std::string known = m_store->description();
    EXPECT_TRUE(known.ends_with(", 3 masters, at " + m_cluster->hosts())) << known;
    const std::size_t from = m_cluster->master_of(key_of(name));
    const std::size_t to = another_master_than(from);
    move_slot(slot_of(name), from, to);

    ASSERT_TRUE(m_store->put(name, bytes_for(1, 5000), soon()).ok());
    EXPECT_EQ(redis_cli(m_cluster->port(to), {"EXISTS", key_of(name)}), "1");
    EXPECT_EQ(m_store->get(name, soon()).value().value(), bytes_for(1, 5000));
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < 30; ++i)
        names.push_back(name_for(i));
    const auto got = m_store->get_many(names, soon());
    for (std::uint64_t i = 0; i < 30; ++i) {
        ASSERT_TRUE(got[i].ok()) << got[i].error().message;
        EXPECT_EQ(got[i]->has_value(), i == 1);
    }
    EXPECT_TRUE(m_store->remove(name, soon()).value());
    move_slot(slot_of(name), to, from);
    EXPECT_FALSE(m_store->get(name, soon()).value().has_value());
}

TEST_F(RedisClusterStore, asks_where_a_slot_is_moving_to)
{
    const std::string name = name_for(2);
    ASSERT_TRUE(m_store->get(name, soon()).ok());
    const std::size_t from = m_cluster->master_of(key_of(name));
    const std::size_t to = another_master_than(from);
    begin_to_move(slot_of(name), from, to);

    EXPECT_FALSE(m_store->get(name, soon()).value().has_value());
    ASSERT_TRUE(m_store->put(name, bytes_for(2, 5'000'000), soon()).ok());
    EXPECT_EQ(m_store->get(name, soon()).value().value(), bytes_for(2, 5'000'000));
    EXPECT_EQ(redis_cli(m_cluster->port(to), {"CLUSTER", "COUNTKEYSINSLOT", slot_of(name)}), "1");
    EXPECT_EQ(redis_cli(m_cluster->port(from), {"CLUSTER", "COUNTKEYSINSLOT", slot_of(name)}), "0");
    const std::vector<std::string> names = {name_for(3), name, name_for(4)};
    const auto has = m_store->has_many(names, soon());
    EXPECT_FALSE(has[0].value());
    EXPECT_TRUE(has[1].value());
    EXPECT_FALSE(has[2].value());

    EXPECT_TRUE(m_store->remove(name, soon()).value());
    for (const std::size_t node : {from, to})
        set_slot(node, slot_of(name), {"STABLE"});
}

TEST_F(RedisClusterStore, a_master_that_dies_is_followed_by_its_replica)
{
    constexpr std::uint64_t k_objects = 60;
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < k_objects; ++i) {
        names.push_back(name_for(i));
        ASSERT_TRUE(m_store->put(names[i], bytes_for(i, 2000), soon()).ok());
    }
    ASSERT_TRUE(wait_for_replicas(k_objects));

    const std::size_t master = m_cluster->master_of(key_of(names[0]));
    std::atomic<bool> stop = false;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
            for (std::uint64_t i = t; !stop.load(); i = (i + 1) % k_objects) {
                const auto got = m_store->get(names[i], in(std::chrono::seconds(2)));
                wrong += got.ok() && (!got->has_value() || **got != bytes_for(i, 2000)) ? 1 : 0;
            }
        });
    m_cluster->server(master).kill();
    EXPECT_TRUE(eventually("a replica answers", [&] {
        const auto all = m_store->get_many(names, soon());
        return std::all_of(all.begin(), all.end(), [](const auto& got) { return got.ok(); });
    }));
    for (std::uint64_t i = 0; i < k_objects; ++i)
        EXPECT_EQ(m_store->get(names[i], soon()).value().value(), bytes_for(i, 2000));
    stop.store(true);
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong.load(), 0);
    ASSERT_TRUE(m_store->put(names[0], bytes_for(0, 10), soon()).ok()) << "and it can be written to";

    m_cluster->server(master).start_again();
    EXPECT_TRUE(m_cluster->wait_until_whole());
}

TEST_F(RedisClusterStore, a_master_that_hangs_is_followed_by_its_replica)
{
    const std::string name = name_for(5);
    ASSERT_TRUE(m_store->put(name, bytes_for(5, 2000), soon()).ok());
    ASSERT_TRUE(wait_for_replicas(1));
    const std::size_t master = m_cluster->master_of(key_of(name));
    m_cluster->server(master).process().signal(SIGSTOP);
    EXPECT_EQ(code_of(m_store->get(name, in(std::chrono::milliseconds(100)))), "timeout");
    Result<std::optional<Bytes>> got = std::optional<Bytes>();
    EXPECT_TRUE(eventually("a replica answers", [&] {
        got = m_store->get(name, in(std::chrono::milliseconds(200)));
        return got.ok();
    }));
    EXPECT_EQ(got->value(), bytes_for(5, 2000));
    m_cluster->server(master).process().signal(SIGCONT);
    EXPECT_TRUE(m_cluster->wait_until_whole());
    EXPECT_EQ(m_store->get(name, soon()).value().value(), bytes_for(5, 2000));
}

}  // namespace hearth::test
