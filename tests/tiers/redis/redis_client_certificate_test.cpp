#include "redis_fixture.hpp"
#include "support/process.hpp"
#include "tiers/redis/redis_settings.hpp"

#include <thread>

// Servers that demand a certificate of those who connect.

namespace hearth::test {

namespace {

class RedisClientCertificate : public testing::Test {
protected:
    void SetUp() override
    {
        HEARTH_NEEDS_REDIS();
        if (!TestCa::available())
            GTEST_SKIP() << "There is no openssl command to make certificates with.";
        m_ca = std::make_unique<TestCa>();
    }

    RedisServer::Options demanding() const
    {
        RedisServer::Options options;
        options.tls = m_ca->good();
        options.authority = m_ca->file();
        options.auth_clients = "yes";
        return options;
    }
    std::unique_ptr<remotes::RemoteStore> open(const RedisServer& server, const std::string& options) const
    {
        return store_at("rediss://127.0.0.1:" + std::to_string(server.port()) + "?ca=" + m_ca->file() + options);
    }
    static std::string showing(const TestCa::Certificate& certificate)
    {
        return "&cert=" + certificate.file + "&key=" + certificate.key;
    }
    // What an address with these options is refused with.
    static std::string problem_of(const std::string& options)
    {
        remotes::StoreOptions store;
        store.url = remotes::parse_url("rediss://me:secret@h?" + options).value();
        const auto settings = tiers::redis::redis_settings(store);
        EXPECT_EQ(code_of(settings), "invalid_argument") << options;
        return settings.ok() ? "" : settings.error().message;
    }

    std::unique_ptr<TestCa> m_ca;
};

bool says(const std::string& message, const std::string& words)
{
    return message.find(words) != std::string::npos;
}

}  // namespace

TEST_F(RedisClientCertificate, with_the_right_one_objects_come_and_go)
{
    const RedisServer server(demanding());
    const auto store = open(server, showing(m_ca->client()));
    ASSERT_TRUE(store->put("k", bytes_for(1, 300'000), soon()).ok());
    EXPECT_EQ(store->get("k", soon()).value().value(), bytes_for(1, 300'000));
    EXPECT_TRUE(store->remove("k", soon()).value());
}

TEST_F(RedisClientCertificate, without_one_it_is_denied_with_what_to_do)
{
    for (const char* version : {"TLSv1.2", "TLSv1.3"}) {
        RedisServer::Options options = demanding();
        options.others = {"--tls-protocols", version};
        const RedisServer server(options);
        const auto got = open(server, "")->get("k", soon());
        ASSERT_EQ(code_of(got), "denied") << version;
        EXPECT_TRUE(says(got.error().message, "cert=FILE")) << got.error().message;
        EXPECT_TRUE(says(got.error().message, std::to_string(server.port()))) << got.error().message;
    }
}

TEST_F(RedisClientCertificate, a_server_that_hangs_up_while_much_is_sent_is_still_understood)
{
    const RedisServer server(demanding());
    for (int i = 0; i < 10; ++i) {
        const Status put = open(server, "")->put("k", bytes_for(1, 8'000'000), soon());
        EXPECT_EQ(code_of(put), "denied") << (put.ok() ? "" : put.error().message);
    }
}

TEST_F(RedisClientCertificate, one_of_another_authority_is_denied)
{
    const TestCa others;
    const TestCa::Certificate theirs = others.client();
    for (const char* version : {"TLSv1.2", "TLSv1.3"}) {
        RedisServer::Options options = demanding();
        options.others = {"--tls-protocols", version};
        const RedisServer server(options);
        const auto got = open(server, showing(theirs))->get("k", soon());
        ASSERT_EQ(code_of(got), "denied") << version;
        EXPECT_TRUE(says(got.error().message, theirs.file)) << got.error().message;
        EXPECT_TRUE(says(got.error().message, "authority")) << got.error().message;
    }
}

TEST_F(RedisClientCertificate, one_that_expired_is_denied)
{
    const RedisServer server(demanding());
    const auto got = open(server, showing(m_ca->expired()))->get("k", soon());
    ASSERT_EQ(code_of(got), "denied");
    EXPECT_TRUE(says(got.error().message, "expired")) << got.error().message;
}

TEST_F(RedisClientCertificate, a_server_that_asks_and_does_not_insist_is_served_without)
{
    RedisServer::Options options = demanding();
    options.auth_clients = "optional";
    RedisServer server(options);
    const auto store = open(server, "");
    EXPECT_EQ(code_of(store->get("k", soon())), "ok");
    server.kill();
    EXPECT_EQ(code_of(store->get("k", soon())), "unavailable") << "it went away, and refused nothing";
}

TEST_F(RedisClientCertificate, the_nodes_of_a_cluster_are_shown_it_too)
{
    const std::uint16_t in_the_clear = free_port();
    RedisServer::Options options = demanding();
    options.others = {"--cluster-enabled",
                      "yes",
                      "--tls-cluster",
                      "yes",
                      "--port",
                      std::to_string(in_the_clear),
                      "--cluster-port",
                      std::to_string(free_port())};
    const RedisServer server(options);
    ASSERT_EQ(redis_cli(in_the_clear, {"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}), "OK");
    const std::string url = "rediss+cluster://127.0.0.1:" + std::to_string(server.port()) + "?ca=" + m_ca->file();
    const auto store = store_at(url + showing(m_ca->client()));
    const auto limit = soon();
    while (!store->put("k", bytes_for(1, 70'000), soon()).ok() && std::chrono::steady_clock::now() < limit)
        std::this_thread::yield();
    EXPECT_EQ(store->get("k", soon()).value().value(), bytes_for(1, 70'000));
    const auto got = store_at(url)->get("k", soon());
    EXPECT_EQ(code_of(got), "denied");
    EXPECT_TRUE(says(got.error().message, "cert=FILE")) << got.error().message;
}

TEST_F(RedisClientCertificate, files_that_cannot_be_used_are_named_and_not_shown)
{
    const TestCa::Certificate ours = m_ca->client();
    const TestCa::Certificate others = m_ca->good();
    const ScratchDirectory folder;
    write_file(folder / "garbage", "hush, this is no key\n");
    const std::string locked = folder / "locked.key";
    ASSERT_EQ(run_process({"/usr/bin/env", "openssl", "pkcs8", "-topk8", "-in", ours.key, "-passout", "pass:word",
                           "-out", locked})
                  .exit_code,
              0);
    const std::string cert = "cert=" + ours.file;
    const std::pair<std::string, std::string> cases[] = {
        {cert, "no key"},
        {"key=" + ours.key, "no cert"},
        {cert + "&key=", "no key"},
        {cert + "&key=/no/such/key", "/no/such/key cannot be read: No such file"},
        {"cert=/no/such/cert&key=" + ours.key, "/no/such/cert cannot be read: No such file"},
        {"cert=" + folder.path() + "&key=" + ours.key, folder.path() + " holds no certificate"},
        {"cert=" + (folder / "garbage") + "&key=" + ours.key, "garbage holds no certificate"},
        {cert + "&key=" + (folder / "garbage"), "garbage holds no private key"},
        {cert + "&key=" + ours.file, "holds no private key"},
        {cert + "&key=" + others.key, others.key + " does not belong to the certificate " + ours.file},
        {cert + "&key=" + locked, "encrypted"},
        {"cert=" + ours.file + "&key=" + ours.key + "&insecure=maybe", "0 or 1"},
    };
    const std::string secret = read_file(ours.key).substr(30, 40);
    for (const auto& [options, hint] : cases) {
        const std::string problem = problem_of(options);
        EXPECT_TRUE(says(problem, hint)) << options << ": " << problem;
        for (const std::string& never : {std::string("hush"), std::string("secret"), secret})
            EXPECT_FALSE(says(problem, never)) << problem;
    }
    EXPECT_TRUE(says(problem_of(cert + "&keys=/x"), "cert and key")) << "those that there are";
}

TEST_F(RedisClientCertificate, one_file_may_hold_the_certificate_and_its_key)
{
    const RedisServer server(demanding());
    const TestCa::Certificate ours = m_ca->client();
    const ScratchDirectory folder;
    write_file(folder / "both.pem", read_file(ours.key) + read_file(ours.file));
    EXPECT_EQ(code_of(open(server, showing({folder / "both.pem", folder / "both.pem"}))->get("k", soon())), "ok");
}

}  // namespace hearth::test
