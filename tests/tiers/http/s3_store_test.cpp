#include "http_fixture.hpp"
#include "rogue_http_server.hpp"
#include "tiers/http/s3_dialect.hpp"

#include <atomic>
#include <fmt/format.h>
#include <set>

namespace hearth::test {

namespace {

class S3Store : public testing::Test {
protected:
    void SetUp() override
    {
        if (!shared_s3())
            GTEST_SKIP() << not_installed("Swift");
    }
};

}  // namespace

TEST_F(S3Store, keys_that_were_refused_are_read_again)
{
    const auto store = open_store(s3_url(k_bucket, fresh_path()));
    {
        IsolatedEnvironment environment;
        environment.set("AWS_SECRET_ACCESS_KEY", "wr0ng-hush");
        EXPECT_EQ(store->put("name", as_bytes("x"), soon()).error().code, Code::denied);
    }
    EXPECT_TRUE(store->put("name", as_bytes("x"), soon()).ok());
}

TEST(S3Redirect, is_not_followed_since_the_sessions_token_would_go_along)
{
    IsolatedEnvironment environment;
    environment.set("AWS_ACCESS_KEY_ID", "id");
    environment.set("AWS_SECRET_ACCESS_KEY", "secret");
    environment.set("AWS_SESSION_TOKEN", "hush");
    std::atomic<int> asked{0};
    const RogueHttpServer thief([&](const Connection& one) {
        ++asked;
        one.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    });
    const RogueHttpServer server("HTTP/1.1 307 Temporary Redirect\r\nLocation: " + thief.url() +
                                 "/x\r\nContent-Length: 0\r\n\r\n");
    const auto store = open_store("s3://bucket?endpoint=" + server.url());
    const auto got = store->get("name", soon());
    ASSERT_FALSE(got.ok());
    EXPECT_NE(got.error().message.find("?region="), std::string::npos) << got.error().message;
    EXPECT_FALSE(store->put("name", as_bytes("x"), soon()).ok());
    EXPECT_EQ(asked, 0);
}

TEST_F(S3Store, keys_come_from_a_file_where_the_environment_has_none)
{
    const ScratchDirectory folder;
    IsolatedEnvironment environment;
    environment.set("AWS_ACCESS_KEY_ID", "");
    environment.set("AWS_SHARED_CREDENTIALS_FILE", folder / "credentials");
    environment.set("AWS_PROFILE", "tests");
    const auto store = open_store(s3_url(k_bucket, fresh_path()));
    EXPECT_EQ(store->get("name", soon()).error().code, Code::denied) << "there is no file yet";
    write_file(folder / "credentials", fmt::format("[tests]\naws_access_key_id = {}\naws_secret_access_key = {}\n",
                                                   S3Server::k_access_key, S3Server::k_secret_key));
    const auto got = store->get("name", soon());
    EXPECT_TRUE(got.ok()) << got.error().message;
}

TEST_F(S3Store, a_bucket_that_is_missing_is_an_outage_and_not_a_miss)
{
    const auto store = open_store(s3_url("no-such-bucket", "x"));
    for (const Error& error : {store->get("name", soon()).error(), store->put("name", as_bytes("x"), soon()).error(),
                               store->list([](auto, auto) { return true; }, soon()).error()}) {
        EXPECT_EQ(error.code, Code::unavailable) << error.message;
        EXPECT_NE(error.message.find("no-such-bucket"), std::string::npos) << error.message;
    }
}

TEST_F(S3Store, a_list_goes_on_page_by_page_and_shows_only_what_is_ours)
{
    using namespace tiers::http;
    const std::string path = fresh_path() + "/with space+&";
    S3Options options{.bucket_url = shared_s3()->endpoint() + "/" + k_bucket,
                      .address = "here",
                      .bucket = k_bucket,
                      .prefix = path + "/",
                      .region = "us-east-1",
                      .page_keys = 3};
    ManualClock clock;
    const auto parts = [&] {
        return HttpStore::Parts{.client = {.address = "here", .connect_timeout = std::chrono::seconds(5)},
                                .dialect = std::make_unique<S3Dialect>(options, AwsSources::of_this_process()),
                                .max_object_bytes = 1000,
                                .clock = &clock};
    };
    HttpStore store(parts());
    std::set<std::string> expected;
    for (int i = 0; i < 10; ++i) {
        const std::string name = "entry-" + std::to_string(i);
        const Status put = store.put(name, as_bytes(std::string(static_cast<std::size_t>(i), 'x')), soon());
        ASSERT_TRUE(put.ok()) << put.error().message;
        expected.insert(name);
    }
    options.prefix += "deeper/";
    HttpStore deeper(parts());
    ASSERT_TRUE(deeper.put("entry-x", as_bytes("x"), soon()).ok());
    std::set<std::string> seen;
    const Status listed = store.list(
        [&](std::string_view name, std::uint64_t bytes) {
            if (name.empty())
                return true;  // between two pages
            EXPECT_EQ(std::to_string(bytes), std::string(name.substr(6)));
            return seen.emplace(name).second;
        },
        soon());
    ASSERT_TRUE(listed.ok()) << listed.error().message;
    EXPECT_EQ(seen, expected);
}

TEST(S3Rogue, a_list_that_never_ends_is_found_out)
{
    IsolatedEnvironment environment;
    environment.set("AWS_ACCESS_KEY_ID", "k");
    environment.set("AWS_SECRET_ACCESS_KEY", "hush");
    const std::string page = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>again"
                             "</NextContinuationToken></ListBucketResult>";
    const RogueHttpServer server(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(page.size()) + "\r\n\r\n" + page);
    const auto store = open_store("s3://bucket?endpoint=" + server.url());
    EXPECT_EQ(store->list([](auto, auto) { return true; }, soon()).error().code, Code::corrupt);
    EXPECT_EQ(server.requests(), 2);
}

TEST(S3Rogue, the_session_token_and_the_digest_of_the_body_are_sent_and_the_secret_is_not)
{
    IsolatedEnvironment environment;
    environment.set("AWS_ACCESS_KEY_ID", "AKEY");
    environment.set("AWS_SECRET_ACCESS_KEY", "hush-hush");
    environment.set("AWS_SESSION_TOKEN", "the-token");
    std::string seen;
    {
        const RogueHttpServer server([&](const RogueHttpServer::Connection& one) {
            seen = one.request();
            one.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        });
        const auto store = open_store("s3://bucket/pre?region=eu-west-3&endpoint=" + server.url());
        ASSERT_TRUE(store->put("name", as_bytes("hello"), soon()).ok());
    }
    EXPECT_TRUE(seen.starts_with("PUT /bucket/pre/name HTTP/1.1\r\n")) << seen;
    EXPECT_NE(seen.find("x-amz-security-token: the-token\r\n"), std::string::npos) << seen;
    EXPECT_NE(seen.find("x-amz-content-sha256: 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\r\n"),
              std::string::npos)
        << seen;
    EXPECT_NE(seen.find("Credential=AKEY/"), std::string::npos) << seen;
    EXPECT_NE(seen.find("/eu-west-3/s3/aws4_request"), std::string::npos) << seen;
    EXPECT_EQ(seen.find("hush"), std::string::npos) << seen;
    EXPECT_EQ(seen.find("Expect:"), std::string::npos) << "no round trip before a small body";
}

}  // namespace hearth::test
