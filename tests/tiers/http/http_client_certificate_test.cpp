#include "http_fixture.hpp"
#include "support/process.hpp"

#include <filesystem>

// Servers that demand a certificate of those who connect.

namespace hearth::test {

namespace {

class HttpClientCertificate : public testing::Test {
protected:
    void SetUp() override
    {
        if (!has_command("nginx") || !shared_ca())
            GTEST_SKIP() << "nginx or openssl is not installed: scripts/install-deps test";
    }

    static std::unique_ptr<NginxServer> demanding()
    {
        return NginxServer::start({.certificate = shared_ca()->good(), .clients_authority = shared_ca()->file()});
    }
    static std::unique_ptr<remotes::RemoteStore> open(const std::string& address, const std::string& options)
    {
        return open_store("https://" + address + "?ca=" + shared_ca()->file() + options);
    }
    static std::string showing(const TestCa::Certificate& certificate)
    {
        return "&cert=" + certificate.file + "&key=" + certificate.key;
    }
    // Everything that a store is asked for is refused with that code and a sentence with these words.
    static void expect_refused(remotes::RemoteStore& store, Code code, const std::vector<std::string>& words)
    {
        const std::vector<std::string> names{"a", "b"};
        std::vector<Error> errors;
        const auto note = [&](const auto& result) {
            EXPECT_FALSE(result.ok());
            if (!result.ok())
                errors.push_back(result.error());
        };
        note(store.get("name", soon()));
        note(store.put("name", as_bytes("x"), soon()));
        note(store.remove("name", soon()));
        for (const auto& got : store.get_many(names, soon()))
            note(got);
        for (const Error& error : errors) {
            EXPECT_EQ(error.code, code) << error.message;
            for (const std::string& word : words)
                EXPECT_NE(error.message.find(word), std::string::npos) << error.message;
        }
        for (const auto& has : store.has_many(names, soon())) {
            ASSERT_FALSE(has.ok());
            EXPECT_EQ(has.error().code, code) << has.error().message;
            EXPECT_NE(has.error().message.find("cert"), std::string::npos) << has.error().message;
        }
    }
};

}  // namespace

TEST_F(HttpClientCertificate, with_the_right_one_objects_come_and_go)
{
    const auto server = demanding();
    const auto store = open(server->address(), showing(shared_ca()->client()));
    const Bytes bytes = sample_bytes(numbered_key(1), 300'000);
    const Status put = store->put("name", bytes, soon());
    ASSERT_TRUE(put.ok()) << put.error().message;
    EXPECT_EQ(store->get("name", soon()).value().value(), bytes);
    EXPECT_EQ(store->get_many(std::vector<std::string>{"name", "other"}, soon())[0].value().value(), bytes);
    EXPECT_TRUE(store->remove("name", soon()).value());
}

TEST_F(HttpClientCertificate, without_one_it_is_denied_with_what_to_do)
{
    const auto server = demanding();
    const auto store = open(server->address(), "");
    expect_refused(*store, Code::denied, {server->address(), "cert=FILE", "key=FILE"});
}

TEST_F(HttpClientCertificate, one_of_another_authority_is_denied)
{
    const auto server = demanding();
    const TestCa others;
    const TestCa::Certificate theirs = others.client();
    expect_refused(*open(server->address(), showing(theirs)), Code::denied, {theirs.file, "authority"});
}

TEST_F(HttpClientCertificate, one_that_expired_is_denied)
{
    const auto server = demanding();
    const TestCa::Certificate old = shared_ca()->expired();
    expect_refused(*open(server->address(), showing(old)), Code::denied, {old.file, "valid today"});
}

// nginx refuses with a page; most servers end the connection, each version of TLS in its own way.
TEST_F(HttpClientCertificate, a_server_that_hangs_up_over_it_is_understood)
{
    const TestCa others;
    const TestCa::Certificate theirs = others.client();
    const TestCa::Certificate its = shared_ca()->good();
    const ScratchDirectory folder;
    for (const char* version : {"-tls1_2", "-tls1_3"}) {
        const std::uint16_t port = free_port();
        const ServerProcess server({"openssl", "s_server", "-accept", std::to_string(port), "-cert", its.file, "-key",
                                    its.key, "-CAfile", shared_ca()->file(), "-Verify", "1", "-verify_return_error",
                                    "-www", version},
                                   folder / "log");
        ASSERT_TRUE(answers(port));
        const std::string address = "127.0.0.1:" + std::to_string(port);
        // TLS 1.2 has one word for this and for other things that went wrong in the handshake.
        const bool knows = std::string(version) == "-tls1_3";
        expect_refused(*open(address, ""), knows ? Code::denied : Code::unavailable, {address, "cert=FILE"});
        expect_refused(*open(address, showing(theirs)), Code::denied, {theirs.file, "authority"});
    }
}

TEST_F(HttpClientCertificate, one_that_is_gone_by_the_time_it_is_needed_is_said)
{
    const auto server = demanding();
    const TestCa::Certificate ours = shared_ca()->issue("fleeting", "DNS:client.invalid");
    const auto store = open(server->address(), showing(ours));
    std::filesystem::remove(ours.file);
    const auto got = store->get("name", soon());
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::denied) << got.error().message;
    EXPECT_NE(got.error().message.find(ours.file), std::string::npos) << got.error().message;
}

TEST_F(HttpClientCertificate, files_that_cannot_be_used_are_named_and_not_shown)
{
    const TestCa::Certificate ours = shared_ca()->client();
    const TestCa::Certificate others = shared_ca()->good();
    const ScratchDirectory folder;
    write_file(folder / "garbage", "hush, this is no key\n");
    const std::string cert = "cert=" + ours.file;
    const std::string key = "key=" + ours.key;
    const std::pair<std::string, std::string> cases[] = {
        {"https://h?" + cert, "no key"},
        {"https://h?" + key, "no cert"},
        {"https://h?" + cert + "&key=/no/such/key", "/no/such/key cannot be read: No such file"},
        {"https://h?cert=/no/such/cert&" + key, "/no/such/cert cannot be read: No such file"},
        {"https://h?" + cert + "&key=" + (folder / "garbage"), "garbage holds no private key"},
        {"https://h?" + cert + "&key=" + others.key, "does not belong to the certificate " + ours.file},
        {"http://h?" + cert + "&" + key, "Use https"},
        {"s3://bucket?endpoint=https://h&" + cert, "no key"},
        {"s3://bucket?endpoint=http://h&" + cert + "&" + key, "https"},
    };
    const std::string secret = read_file(ours.key).substr(30, 40);
    for (const auto& [url, hint] : cases) {
        const auto store = tiers::open_http_store(options_for(url));
        ASSERT_FALSE(store.ok()) << url;
        EXPECT_EQ(store.error().code, Code::invalid_argument) << url;
        EXPECT_NE(store.error().message.find(hint), std::string::npos) << store.error().message;
        EXPECT_EQ(store.error().message.find("hush"), std::string::npos) << store.error().message;
        EXPECT_EQ(store.error().message.find(secret), std::string::npos) << store.error().message;
    }
    EXPECT_TRUE(tiers::open_http_store(options_for("s3://bucket?endpoint=https://h&" + cert + "&" + key)).ok());
}

}  // namespace hearth::test
