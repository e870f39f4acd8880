#include "redis_fixture.hpp"
#include "rogue_server.hpp"

#include <thread>

namespace hearth::test {

namespace {

class RedisTls : public testing::Test {
protected:
    void SetUp() override
    {
        HEARTH_NEEDS_REDIS();
        if (!TestCa::available())
            GTEST_SKIP() << "There is no openssl command to make certificates with.";
        m_ca = std::make_unique<TestCa>();
    }

    std::unique_ptr<RedisServer> serve(const TestCa::Certificate& certificate) const
    {
        RedisServer::Options options;
        options.tls = certificate;
        options.authority = m_ca->file();
        return std::make_unique<RedisServer>(options);
    }

    static Result<std::optional<Bytes>> get(const std::string& host, const RedisServer& server,
                                            const std::string& options)
    {
        return store_at("rediss://" + host + ":" + std::to_string(server.port()) + options)->get("k", soon());
    }

    std::string with_authority() const { return "?ca=" + m_ca->file(); }

    std::unique_ptr<TestCa> m_ca;
};

}  // namespace

TEST_F(RedisTls, a_certificate_for_this_name_or_address_is_accepted)
{
    const auto server = serve(m_ca->good());
    EXPECT_EQ(code_of(get("127.0.0.1", *server, with_authority())), "ok");
    EXPECT_EQ(code_of(get("localhost", *server, with_authority())), "ok");
}

TEST_F(RedisTls, a_certificate_of_somebody_unknown_is_denied)
{
    const auto server = serve(m_ca->good());
    const TestCa others;
    EXPECT_EQ(code_of(get("127.0.0.1", *server, "?ca=" + others.file())), "denied");
    EXPECT_EQ(code_of(get("127.0.0.1", *server, "")), "denied") << "the system does not know it either";
    EXPECT_EQ(code_of(get("127.0.0.1", *server, "?insecure=1")), "ok") << "unless nobody looks";
}

TEST_F(RedisTls, a_certificate_for_another_host_is_denied)
{
    const auto server = serve(m_ca->issue("other", "DNS:redis.example,IP:127.0.0.2"));
    EXPECT_EQ(code_of(get("127.0.0.1", *server, with_authority())), "denied");
    EXPECT_EQ(code_of(get("localhost", *server, with_authority())), "denied");
}

TEST_F(RedisTls, an_expired_certificate_is_denied)
{
    const auto server = serve(m_ca->expired());
    const auto got = get("127.0.0.1", *server, with_authority());
    EXPECT_EQ(code_of(got), "denied");
    EXPECT_NE(got.error().message.find("expired"), std::string::npos) << got.error().message;
}

TEST_F(RedisTls, a_server_that_was_restarted_is_found_again)
{
    const auto server = serve(m_ca->good());
    const auto store = store_at("rediss://127.0.0.1:" + std::to_string(server->port()) + with_authority());
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(store->put("k", bytes_for(1, 300'000), soon()).ok());
        EXPECT_EQ(store->get("k", soon()).value().value(), bytes_for(1, 300'000));
        server->kill();
        server->start();
        const auto got = store->get("k", soon());
        ASSERT_TRUE(got.ok()) << got.error().message;
        EXPECT_FALSE(got->has_value());
    }
}

// A node that stands alone does not know its own address, and leaves it out of its map.
TEST_F(RedisTls, a_cluster_is_asked_over_tls_too)
{
    const std::uint16_t in_the_clear = free_port();
    RedisServer::Options options;
    options.tls = m_ca->good();
    options.authority = m_ca->file();
    options.others = {"--cluster-enabled",
                      "yes",
                      "--tls-cluster",
                      "yes",  // else it names its port in the clear
                      "--port",
                      std::to_string(in_the_clear),
                      "--cluster-port",
                      std::to_string(free_port())};
    const RedisServer server(options);
    ASSERT_EQ(redis_cli(in_the_clear, {"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}), "OK");
    const auto store = store_at("rediss+cluster://127.0.0.1:" + std::to_string(server.port()) + with_authority());
    const auto limit = soon();
    while (!store->put("k", bytes_for(1, 70'000), soon()).ok() && std::chrono::steady_clock::now() < limit)
        std::this_thread::yield();
    EXPECT_EQ(store->get("k", soon()).value().value(), bytes_for(1, 70'000));
    EXPECT_NE(store->description().find("1 master,"), std::string::npos) << store->description();
}

TEST_F(RedisTls, neither_side_in_the_clear_is_understood)
{
    const RedisServer plain;
    const auto to_plain = store_at("rediss://127.0.0.1:" + std::to_string(plain.port()) + with_authority());
    EXPECT_EQ(code_of(to_plain->get("k", in(std::chrono::milliseconds(50)))), "timeout") << "it waits for a line's end";
    const auto encrypted = serve(m_ca->good());
    const std::string code = code_of(store_at(local_url(encrypted->port()))->get("k", soon()));
    EXPECT_TRUE(code == "unavailable" || code == "corrupt") << code;
    const RogueServer silent("", RogueServer::Then::stay);
    const auto store = store_at("rediss://127.0.0.1:" + std::to_string(silent.port()));
    EXPECT_EQ(code_of(store->get("k", in(std::chrono::milliseconds(50)))), "timeout");
    const RogueServer closing("", RogueServer::Then::close);
    EXPECT_EQ(code_of(store_at("rediss://127.0.0.1:" + std::to_string(closing.port()))->get("k", soon())),
              "unavailable");
}

}  // namespace hearth::test
