#include "redis_fixture.hpp"
#include "shared_cluster.hpp"

#include <csignal>
#include <set>
#include <thread>

namespace hearth::test {

TEST(RedisFaults, a_wrong_password_is_denied_and_not_shown)
{
    HEARTH_NEEDS_REDIS();
    RedisServer::Options options;
    options.password = "right-secret";
    const RedisServer server(options);
    const std::string host = "@127.0.0.1:" + std::to_string(server.port());
    for (const std::string who : {":wrong-secret", "default:wrong-secret", "somebody:wrong-secret"}) {
        const auto got = store_at("redis://" + who + host)->get("k", soon());
        EXPECT_EQ(code_of(got), "denied") << who;
        EXPECT_EQ(got.error().message.find("wrong-secret"), std::string::npos) << got.error().message;
    }
    EXPECT_EQ(code_of(store_at(local_url(server.port()))->get("k", soon())), "denied") << "none at all";
    EXPECT_EQ(code_of(store_at("redis://:right-secret" + host)->get("k", soon())), "ok");
}

TEST(RedisFaults, a_password_where_none_is_wanted_is_denied)
{
    HEARTH_NEEDS_REDIS();
    const RedisServer server;
    const auto got = store_at("redis://:pointless-secret@127.0.0.1:" + std::to_string(server.port()))->get("k", soon());
    EXPECT_EQ(code_of(got), "denied");
    EXPECT_EQ(got.error().message.find("pointless-secret"), std::string::npos) << got.error().message;
}

TEST(RedisFaults, what_a_user_may_not_do_is_denied)
{
    HEARTH_NEEDS_REDIS();
    const RedisServer server;
    redis_cli(server.port(), {"ACL", "SETUSER", "reader", "on", ">pw", "~*", "+get"});
    const auto store = store_at("redis://reader:pw@127.0.0.1:" + std::to_string(server.port()));
    EXPECT_EQ(code_of(store->get("k", soon())), "ok");
    EXPECT_EQ(code_of(store->put("k", bytes_for(1, 10), soon())), "denied");
    EXPECT_EQ(store->description(), "redis at 127.0.0.1:" + std::to_string(server.port())) << "INFO is not allowed";
}

TEST(RedisFaults, a_full_server_has_no_space)
{
    HEARTH_NEEDS_REDIS();
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

TEST(RedisFaults, a_replica_that_may_not_be_written_to_is_denied)
{
    HEARTH_NEEDS_REDIS();
    const RedisServer server;
    redis_cli(server.port(), {"REPLICAOF", "127.0.0.1", "1"});
    EXPECT_EQ(code_of(store_at(local_url(server.port()))->put("k", bytes_for(1, 10), soon())), "denied");
}

TEST(RedisFaults, a_server_that_is_gone_is_unavailable)
{
    HEARTH_NEEDS_REDIS();
    RedisServer server;
    const auto store = store_at(local_url(server.port()));
    ASSERT_TRUE(store->put("k", bytes_for(1, 10), soon()).ok());
    server.kill();
    EXPECT_EQ(code_of(store->get("k", soon())), "unavailable");
    EXPECT_EQ(code_of(store->put("k", bytes_for(1, 10), soon())), "unavailable");
    const std::vector<std::string> names(300, "k");
    for (const auto& got : store->get_many(names, soon()))
        EXPECT_EQ(code_of(got), "unavailable");
    EXPECT_EQ(code_of(store->list([](std::string_view, std::uint64_t) { return true; }, soon())), "unavailable");
    EXPECT_EQ(code_of(store_at("redis+unix:///nowhere/redis.sock")->get("k", soon())), "unavailable");
    EXPECT_EQ(code_of(store_at("redis+cluster://127.0.0.1:" + std::to_string(server.port()))->get("k", soon())),
              "unavailable");
}

TEST(RedisFaults, a_server_that_was_restarted_is_found_again)
{
    HEARTH_NEEDS_REDIS();
    RedisServer server;
    const auto store = store_at(local_url(server.port()));
    const Bytes token = Bytes::copy_of("token");
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(store->put("k", bytes_for(1, 100), soon()).ok());
        server.kill();
        server.start();
        const auto got = store->get("k", soon());
        ASSERT_TRUE(got.ok()) << got.error().message;
        EXPECT_FALSE(got->has_value());
        server.kill();
        server.start();
        EXPECT_TRUE(store->put_if_absent("lease", token, std::chrono::seconds(60), soon()).value());
    }
}

TEST(RedisFaults, a_late_answer_is_never_taken_for_anothers)
{
    HEARTH_NEEDS_REDIS();
    RedisServer server;
    const auto store = store_at(local_url(server.port()));
    ASSERT_TRUE(store->put("a", bytes_for(1, 50'000), soon()).ok());
    ASSERT_TRUE(store->put("b", bytes_for(2, 50'000), soon()).ok());
    for (int i = 0; i < 5; ++i) {
        server.process().signal(SIGSTOP);
        EXPECT_EQ(code_of(store->get("a", in(std::chrono::milliseconds(30)))), "timeout");
        EXPECT_EQ(code_of(store->put("c", bytes_for(3, 10), in(std::chrono::milliseconds(30)))), "timeout");
        server.process().signal(SIGCONT);
        EXPECT_EQ(store->get("b", soon()).value().value(), bytes_for(2, 50'000));
        EXPECT_EQ(store->get("a", soon()).value().value(), bytes_for(1, 50'000));
    }
}

TEST(RedisFaults, one_node_of_a_cluster_is_no_single_server)
{
    const RedisCluster* cluster = shared_cluster();
    HEARTH_NEEDS_REDIS();
    const auto store = store_at(local_url(cluster->port(0)));
    int refused = 0;
    for (std::uint64_t i = 0; i < 20; ++i)
        if (const auto got = store->get(name_for(i), soon()); !got.ok()) {
            ++refused;
            EXPECT_EQ(code_of(got), "unavailable");
            EXPECT_NE(got.error().message.find("redis+cluster://"), std::string::npos) << got.error().message;
        }
    EXPECT_GT(refused, 0);
    const RedisServer single;
    const auto no_cluster = store_at("redis+cluster://127.0.0.1:" + std::to_string(single.port()));
    EXPECT_EQ(code_of(no_cluster->get("k", soon())), "other_version");
}

TEST(RedisStore, more_threads_than_connections_take_turns)
{
    HEARTH_NEEDS_REDIS();
    const RedisServer server;
    remotes::StoreOptions options = options_for(local_url(server.port()));
    options.max_connections = 2;
    const auto store = tiers::open_redis_store(options).value();
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 8; ++t)
        threads.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < 50; ++i) {
                ASSERT_TRUE(store->put(name_for(t), bytes_for(i, 3000), soon()).ok());
                ASSERT_EQ(store->get(name_for(t), soon()).value().value(), bytes_for(i, 3000));
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    const std::string clients = redis_cli(server.port(), {"INFO", "clients"});
    EXPECT_NE(clients.find("connected_clients:3"), std::string::npos) << clients << "\n(two of ours, and redis-cli)";
}

TEST(RedisStore, large_batches_go_both_ways_at_once)
{
    HEARTH_NEEDS_REDIS();
    const RedisServer server;
    const auto store = store_at(local_url(server.port()));
    std::vector<Bytes> bytes;
    std::vector<remotes::Object> objects;
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < 40; ++i) {
        bytes.push_back(bytes_for(i, 1'000'000));
        names.push_back(name_for(i));
    }
    for (std::uint64_t i = 0; i < 40; ++i)
        objects.push_back({names[i], bytes[i]});
    for (const Status& status : store->put_many(objects, soon()))
        ASSERT_TRUE(status.ok()) << status.error().message;
    const auto got = store->get_many(names, soon());
    for (std::size_t i = 0; i < 40; ++i)
        EXPECT_EQ(got[i].value().value(), bytes[i]);
    std::vector<std::string> many;
    for (std::uint64_t i = 0; i < 5000; ++i)
        many.push_back(name_for(i));
    const auto has = store->has_many(many, soon());
    for (std::uint64_t i = 0; i < many.size(); ++i)
        ASSERT_EQ(has[i].value(), i < 40) << i;
}

TEST(RedisStore, one_too_large_object_of_a_batch_leaves_the_others)
{
    HEARTH_NEEDS_REDIS();
    const RedisServer server;
    const auto large = store_at(local_url(server.port()));
    const std::vector<std::string> names = {"a", "big", "b", "bigger", "c"};
    const std::vector<std::size_t> sizes = {100, 2000, 900, 300'000, 1000};
    for (std::size_t i = 0; i < names.size(); ++i)
        ASSERT_TRUE(large->put(names[i], bytes_for(i, sizes[i]), soon()).ok());
    remotes::StoreOptions options = options_for(local_url(server.port()));
    options.max_object_bytes = 1000;
    const auto small = tiers::open_redis_store(options).value();
    const auto got = small->get_many(names, soon());
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (sizes[i] > 1000)
            EXPECT_EQ(code_of(got[i]), "too_large") << names[i];
        else
            EXPECT_EQ(got[i].value().value(), bytes_for(i, sizes[i])) << names[i];
    }
    const Bytes fits = bytes_for(1, 10);
    const Bytes does_not = bytes_for(2, 1001);
    const std::vector<remotes::Object> objects = {{"x", fits}, {"y", does_not}, {"z", fits}};
    const auto put = small->put_many(objects, soon());
    EXPECT_EQ(code_of(put[0]), "ok");
    EXPECT_EQ(code_of(put[1]), "too_large");
    EXPECT_EQ(code_of(put[2]), "ok");
    EXPECT_EQ(large->get("z", soon()).value().value(), fits);
}

TEST(RedisStore, a_prefix_keeps_stores_apart)
{
    HEARTH_NEEDS_REDIS();
    const RedisServer server;
    const auto plain = store_at(local_url(server.port()));
    const auto odd = store_at(local_url(server.port()) + "?prefix=h[e]*:");
    ASSERT_TRUE(plain->put("a", bytes_for(1, 1), soon()).ok());
    ASSERT_TRUE(odd->put("b", bytes_for(2, 1), soon()).ok());
    redis_cli(server.port(), {"SET", "hearth:not a name", "x"});
    redis_cli(server.port(), {"SET", "he:c", "x"});
    EXPECT_EQ(redis_cli(server.port(), {"EXISTS", "hearth:a", "h[e]*:b"}), "2");
    for (const auto& [store, name] : {std::pair(plain.get(), "a"), std::pair(odd.get(), "b")}) {
        std::set<std::string> seen;
        ASSERT_TRUE(store
                        ->list(
                            [&](std::string_view one, std::uint64_t) {
                                seen.emplace(one);
                                return true;
                            },
                            soon())
                        .ok());
        EXPECT_EQ(seen, std::set<std::string>{name});
    }
}

TEST(RedisStore, a_long_list_is_whole)
{
    HEARTH_NEEDS_REDIS();
    const RedisServer server;
    const auto store = store_at(local_url(server.port()));
    std::vector<remotes::Object> objects;
    const Bytes bytes = bytes_for(1, 3);
    std::set<std::string> expected;
    for (std::uint64_t i = 0; i < 5000; ++i) {
        objects.push_back({name_for(i), bytes});
        expected.insert(name_for(i));
    }
    for (const Status& status : store->put_many(objects, soon()))
        ASSERT_TRUE(status.ok());
    std::set<std::string> seen;
    ASSERT_TRUE(store
                    ->list(
                        [&](std::string_view one, std::uint64_t) {
                            seen.emplace(one);
                            return true;
                        },
                        soon())
                    .ok());
    EXPECT_EQ(seen, expected);
}

TEST(RedisStore, says_what_it_talks_to)
{
    HEARTH_NEEDS_REDIS();
    const RedisServer server;
    const auto store = store_at(local_url(server.port()));
    const std::string address = "127.0.0.1:" + std::to_string(server.port());
    EXPECT_EQ(store->description(), "redis at " + address) << "not reached yet";
    ASSERT_TRUE(store->get("k", soon()).ok());
    EXPECT_TRUE(store->description().starts_with("redis ")) << store->description();
    EXPECT_TRUE(store->description().ends_with(" at " + address)) << store->description();
    EXPECT_EQ(store->description().find("redis at"), std::string::npos) << store->description();
}

}  // namespace hearth::test
