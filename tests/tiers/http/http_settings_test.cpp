#include "http_fixture.hpp"

namespace hearth::test {

namespace {

Result<std::unique_ptr<remotes::RemoteStore>> opened(const std::string& url)
{
    return tiers::open_http_store(options_for(url));
}

}  // namespace

TEST(HttpSettings, what_can_be_used_opens_without_a_connection)
{
    for (const char* url :
         {"http://127.0.0.1:1", "http://[::1]:1/a/b/", "https://example.com/x?layout=shards&ca=/x&insecure=0",
          "http://h/?name=n&read-only=1&timeout=5&connect-timeout=1&hedge=1&trust=full&lease=0&queue=9",
          "http://h?token-file=/no/such/file", "s3://bucket", "s3://bucket/pre/fix?region=eu-west-1",
          "s3://my.bucket?endpoint=http://127.0.0.1:1", "s3://bucket?endpoint=https://h:9000/base&insecure=1",
          "http://a:80,b:80,[::1]:80/path?layout=shards", "https://a,a:8443",
          "s3://bucket?endpoint=http://a:9000,b:9000/base"}) {
        const auto store = opened(url);
        EXPECT_TRUE(store.ok()) << url << ": " << store.error().message;
    }
}

TEST(HttpSettings, what_cannot_be_used_is_said_with_what_may_stand_there)
{
    const std::pair<const char*, const char*> cases[] = {
        {"http://h?layuot=flat", "layout, token-file, ca, insecure"},
        {"http://h?layuot=flat", "Did you mean layout?"},
        {"http://h?tiemout=1s", "Did you mean timeout?"},
        {"http://h?layout=tree", "flat, shards or bazel"},
        {"https://h?insecure=maybe", "0 or 1"},
        {"https://h?ca=", "PEM"},
        {"http://h?ca=/x", "https"},
        {"http://a%2fb", "no name or address"},
        {"http://a,b:81,a:80", "names a:80 twice"},
        {"https://[::1],[::1]:443", "names [::1]:443 twice"},
        {"s3://bucket?endpoint=http://a:1,b:1,a:1", "names a:1 twice"},
        {"s3://bucket?endpoint=http://a:1,http://b:1", "http://HOST:PORT,HOST:PORT"},
        {"s3://bucket?endpoint=http://a,%7f", "http://HOST:PORT,HOST:PORT"},
        {"s3://a-bucket,b-bucket", "one bucket"},
        {"http://me:secret@h?token-file=/x", "One of them"},
        {"http://h?token-file=", "token-file"},
        {"s3://bucket?layout=flat", "endpoint, region, ca, insecure"},
        {"s3://bucket?endpoint=ftp://h", "http://HOST:PORT"},
        {"s3://bucket?endpoint=nonsense", "http://HOST:PORT"},
        {"s3://bucket?region=a%20b", "us-east-1"},
        {"s3://b", "bucket"},
        {"s3://bucket:80", "bucket"},
        {"s3://key:secret@bucket", "AWS_ACCESS_KEY_ID"},
        {"redis://h", "http, https and s3"},
    };
    for (const auto& [url, hint] : cases) {
        const auto store = opened(url);
        ASSERT_FALSE(store.ok()) << url;
        EXPECT_EQ(store.error().code, Code::invalid_argument) << url;
        EXPECT_NE(store.error().message.find(hint), std::string::npos) << store.error().message;
        EXPECT_EQ(store.error().message.find("secret"), std::string::npos) << store.error().message;
    }
}

TEST(HttpSettings, a_bucket_without_an_endpoint_is_amazons)
{
    IsolatedEnvironment environment;
    environment.set("AWS_ENDPOINT_URL", "");
    environment.set("AWS_ENDPOINT_URL_S3", "");
    environment.set("AWS_REGION", "eu-central-1");
    EXPECT_EQ(opened("s3://kernels").value()->description(), "bucket kernels at kernels.s3.eu-central-1.amazonaws.com");
    EXPECT_EQ(opened("s3://kernels?region=us-west-2").value()->description(),
              "bucket kernels at kernels.s3.us-west-2.amazonaws.com");
    EXPECT_EQ(opened("s3://my.kernels").value()->description(), "bucket my.kernels at s3.eu-central-1.amazonaws.com");
    environment.set("AWS_ENDPOINT_URL", "http://127.0.0.1:9000");
    EXPECT_EQ(opened("s3://kernels").value()->description(), "bucket kernels at 127.0.0.1:9000");
    environment.set("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9001");
    EXPECT_EQ(opened("s3://kernels").value()->description(), "bucket kernels at 127.0.0.1:9001");
    EXPECT_EQ(opened("s3://kernels?endpoint=https://x").value()->description(), "bucket kernels at x");
}

}  // namespace hearth::test
