#include "redis_fixture.hpp"
#include "shared_cluster.hpp"
#include "support/forks.hpp"
#include "support/in_threads.hpp"

#include <atomic>
#include <optional>
#include <set>
#include <thread>
#include <unistd.h>

namespace hearth::test {

namespace {

// A store on a server of the case's own.
class RedisStore : public testing::Test {
protected:
    void SetUp() override
    {
        if (!has_redis())
            GTEST_SKIP() << not_installed("redis-server");
        m_server.emplace();
        m_url = local_url(m_server->port());
        m_store = store_at(m_url);
    }

    std::optional<RedisServer> m_server;
    std::string m_url;
    std::unique_ptr<remotes::RemoteStore> m_store;
};

}  // namespace

TEST_F(RedisStore, a_password_where_none_is_wanted_and_what_a_user_may_not_do_is_denied)
{
    const auto got =
        store_at("redis://:pointless-secret@127.0.0.1:" + std::to_string(m_server->port()))->get("k", soon());
    EXPECT_EQ(code_of(got), "denied");
    EXPECT_EQ(got.error().message.find("pointless-secret"), std::string::npos) << got.error().message;
    redis_cli(m_server->port(), {"ACL", "SETUSER", "reader", "on", ">pw", "~*", "+get"});
    const auto store = store_at("redis://reader:pw@127.0.0.1:" + std::to_string(m_server->port()));
    EXPECT_EQ(code_of(store->get("k", soon())), "ok");
    EXPECT_EQ(code_of(store->put("k", bytes_for(1, 10), soon())), "denied");
    EXPECT_EQ(store->description(), "redis at 127.0.0.1:" + std::to_string(m_server->port())) << "INFO is not allowed";
}

TEST_F(RedisStore, that_is_full_has_no_space)
{
    RedisServer::Options options;
    options.others = {"--maxmemory", "3mb", "--maxmemory-policy", "noeviction"};
    const RedisServer server(options);
    const auto store = store_at(local_url(server.port()));
    std::string code = "ok";
    for (std::uint64_t i = 0; i < 100 && code == "ok"; ++i)
        code = code_of(store->put(name_for(i), bytes_for(i, 100'000), soon()));
    EXPECT_EQ(code, "no_space");
    EXPECT_EQ(code_of(store->get(name_for(0), soon())), "ok");
}

TEST_F(RedisStore, a_replica_that_may_not_be_written_to_is_denied)
{
    redis_cli(m_server->port(), {"REPLICAOF", "127.0.0.1", "1"});
    EXPECT_EQ(code_of(m_store->put("k", bytes_for(1, 10), soon())), "denied");
}

TEST(RedisFaults, where_nobody_listens_is_unavailable)
{
    for (const char* url : {"redis+unix:///nowhere/redis.sock", "redis+cluster://127.0.0.1:1"})
        EXPECT_EQ(code_of(store_at(url)->get("k", soon())), "unavailable") << url;
}

TEST_F(RedisStore, that_is_one_node_of_a_cluster_is_no_single_server_and_the_other_way_round)
{
    const RedisCluster* cluster = shared_cluster();
    const auto store = store_at(local_url(cluster->port(0)));
    int refused = 0;
    for (std::uint64_t i = 0; i < 20; ++i)
        if (const auto got = store->get(name_for(i), soon()); !got.ok()) {
            ++refused;
            EXPECT_EQ(code_of(got), "unavailable");
            EXPECT_NE(got.error().message.find("redis+cluster://"), std::string::npos) << got.error().message;
        }
    EXPECT_GT(refused, 0);
    const auto no_cluster = store_at("redis+cluster://127.0.0.1:" + std::to_string(m_server->port()));
    EXPECT_EQ(code_of(no_cluster->get("k", soon())), "other_version");
}

TEST_F(RedisStore, no_more_connections_are_made_than_it_may_have)
{
    remotes::StoreOptions options = options_for(m_url);
    options.max_connections = 2;
    const auto store = tiers::open_redis_store(options).value();
    in_threads(8, [&](std::uint64_t) {
        for (int i = 0; i < 50; ++i)
            EXPECT_EQ(code_of(store->get("k", soon())), "ok");
    });
    const std::string clients = redis_cli(m_server->port(), {"INFO", "clients"});
    EXPECT_NE(clients.find("connected_clients:3"), std::string::npos) << clients << "\n(two of ours, and redis-cli)";
}

// Other threads are in the middle of their calls, some waiting for a connection, when the process forks.
TEST_F(RedisStore, a_forked_child_works_on_whatever_other_threads_were_doing)
{
    SKIP_FORKS_BESIDE_THREADS();
    remotes::StoreOptions options = options_for(m_url);
    options.max_connections = 2;
    const auto store = tiers::open_redis_store(options).value();
    for (std::uint64_t i = 0; i < 4; ++i)
        ASSERT_TRUE(store->put(name_for(i), bytes_for(i, 30'000), soon()).ok());
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            while (!stop.load())
                EXPECT_EQ(store->get(name_for(t), soon()).value().value(), bytes_for(t, 30'000));
        });
    for (int round = 0; round < 20; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            store->after_fork();
            bool right = true;
            for (std::uint64_t i = 0; i < 12; ++i) {
                const auto got = store->get(name_for(i % 4), soon());
                right = right && got.ok() && got->has_value() && **got == bytes_for(i % 4, 30'000);
            }
            ::_exit(right ? 0 : 1);
        }
        EXPECT_TRUE(child_was_right(child));
    }
    stop.store(true);
    for (std::thread& thread : threads)
        thread.join();
}

TEST_F(RedisStore, large_batches_go_both_ways_at_once)
{
    std::vector<Bytes> bytes;
    std::vector<remotes::Object> objects;
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < 40; ++i) {
        bytes.push_back(bytes_for(i, 1'000'000));
        names.push_back(name_for(i));
    }
    for (std::uint64_t i = 0; i < 40; ++i)
        objects.push_back({names[i], bytes[i]});
    for (const Status& status : m_store->put_many(objects, soon()))
        ASSERT_TRUE(status.ok()) << status.error().message;
    const auto got = m_store->get_many(names, soon());
    for (std::size_t i = 0; i < 40; ++i)
        EXPECT_EQ(got[i].value().value(), bytes[i]);
    std::vector<std::string> many;
    for (std::uint64_t i = 0; i < 5000; ++i)
        many.push_back(name_for(i));
    const auto has = m_store->has_many(many, soon());
    for (std::uint64_t i = 0; i < many.size(); ++i)
        ASSERT_EQ(has[i].value(), i < 40) << i;
}

TEST_F(RedisStore, a_prefix_keeps_stores_apart)
{
    const auto odd = store_at(m_url + "?prefix=h[e]*:");
    ASSERT_TRUE(m_store->put("a", bytes_for(1, 1), soon()).ok());
    ASSERT_TRUE(odd->put("b", bytes_for(2, 1), soon()).ok());
    redis_cli(m_server->port(), {"SET", "hearth:not a name", "x"});
    redis_cli(m_server->port(), {"SET", "he:c", "x"});
    EXPECT_EQ(redis_cli(m_server->port(), {"EXISTS", "hearth:a", "h[e]*:b"}), "2");
    for (const auto& [store, name] : {std::pair(m_store.get(), "a"), std::pair(odd.get(), "b")}) {
        EXPECT_EQ(names_in(*store), std::set<std::string>{name});
    }
}

TEST_F(RedisStore, a_long_list_is_whole)
{
    std::vector<remotes::Object> objects;
    const Bytes bytes = bytes_for(1, 3);
    std::set<std::string> expected;
    for (std::uint64_t i = 0; i < 5000; ++i) {
        objects.push_back({name_for(i), bytes});
        expected.insert(name_for(i));
    }
    for (const Status& status : m_store->put_many(objects, soon()))
        ASSERT_TRUE(status.ok());
    EXPECT_EQ(names_in(*m_store), expected);
}

}  // namespace hearth::test
