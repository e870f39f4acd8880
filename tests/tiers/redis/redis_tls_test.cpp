#include "redis_fixture.hpp"
#include "support/eventually.hpp"
#include "support/rogue_server.hpp"

namespace hearth::test {

namespace {

class RedisTls : public testing::Test {
protected:
    void SetUp() override
    {
        if (!has_redis())
            GTEST_SKIP() << not_installed("redis-server");
        if (!shared_ca())
            GTEST_SKIP() << "There is no openssl command to make certificates with.";
    }

    static RedisServer::Options encrypted(const std::string& auth_clients = "no")
    {
        RedisServer::Options options;
        options.auth_clients = auth_clients;
        options.tls = shared_ca()->good();
        options.authority = shared_ca()->file();
        return options;
    }
    static std::string url_of(std::uint16_t port)
    {
        return "rediss://127.0.0.1:" + std::to_string(port) + "?ca=" + shared_ca()->file();
    }
};

}  // namespace

TEST_F(RedisTls, a_server_that_hangs_up_over_a_certificate_while_much_is_sent_is_still_understood)
{
    const RedisServer server(encrypted("yes"));
    for (int i = 0; i < 10; ++i)
        EXPECT_EQ(code_of(store_at(url_of(server.port()))->put("k", bytes_for(1, 8'000'000), soon())), "denied");
}

// A node that stands alone does not know its own address, and leaves it out of its map.
TEST_F(RedisTls, the_nodes_of_a_cluster_are_shown_a_certificate_too)
{
    const ScratchDirectory folder;
    RedisServer::Options options = encrypted("yes");
    options.cluster = true;
    options.unix_socket = folder / "redis.sock";
    options.others = {"--tls-cluster", "yes"};  // else it names its port in the clear
    const RedisServer server(options);
    ASSERT_EQ(redis_cli(options.unix_socket, {"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}), "OK");
    const std::string url =
        "rediss+cluster://127.0.0.1:" + std::to_string(server.port()) + "?ca=" + shared_ca()->file();
    const TestCa::Certificate ours = shared_ca()->client();
    const auto store = store_at(url + "&cert=" + ours.file + "&key=" + ours.key);
    ASSERT_TRUE(
        eventually("the cluster takes objects", [&] { return store->put("k", bytes_for(1, 70'000), soon()).ok(); }));
    EXPECT_EQ(store->get("k", soon()).value().value(), bytes_for(1, 70'000));
    EXPECT_NE(store->description().find("1 master,"), std::string::npos) << store->description();
    const auto got = store_at(url)->get("k", soon());
    ASSERT_EQ(code_of(got), "denied");
    EXPECT_NE(got.error().message.find("cert=FILE"), std::string::npos) << got.error().message;
}

TEST_F(RedisTls, neither_side_in_the_clear_is_understood)
{
    const RedisServer plain;
    const auto to_plain = store_at(url_of(plain.port()));
    EXPECT_EQ(code_of(to_plain->get("k", in(std::chrono::milliseconds(50)))), "timeout") << "it waits for a line's end";
    const RedisServer server(encrypted());
    const std::string code = code_of(store_at(local_url(server.port()))->get("k", soon()));
    EXPECT_TRUE(code == "unavailable" || code == "corrupt") << code;
    const RogueServer silent("", RogueServer::Then::stay);
    EXPECT_EQ(code_of(store_at(url_of(silent.port()))->get("k", in(std::chrono::milliseconds(50)))), "timeout");
    const RogueServer closing("", RogueServer::Then::close);
    EXPECT_EQ(code_of(store_at(url_of(closing.port()))->get("k", soon())), "unavailable");
}

}  // namespace hearth::test
