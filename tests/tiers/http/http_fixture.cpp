#include "http_fixture.hpp"

#include <atomic>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace hearth::test {

namespace {

// Servers of this machine are not to be reached through a proxy, whatever the environment says.
[[maybe_unused]] const int g_no_proxy = ::setenv("no_proxy", "*", 1);

void make_bucket(const std::string& endpoint)
{
    namespace http = tiers::http;
    http::HttpClient client(http::ClientOptions{.address = endpoint});
    http::Request request{.method = http::Method::put, .url = endpoint + "/" + k_bucket};
    // The digest of nothing.
    request.headers = {"x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"};
    request.login = std::make_shared<const http::Login>(
        http::Login{http::Login::Kind::sigv4, S3Server::k_access_key, S3Server::k_secret_key, "aws:amz:us-east-1:s3"});
    request.max_bytes = 4096;
    const Result<http::Answer> answer = client.perform(request, soon());
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    ASSERT_EQ(answer->status, 200) << answer->body.text();
}

}  // namespace

std::unique_ptr<remotes::RemoteStore> open_store(const std::string& url)
{
    return tiers::open_http_store(options_for(url)).value();
}

NginxServer* shared_nginx()
{
    static const std::unique_ptr<NginxServer> server = NginxServer::start();
    return server.get();
}

NginxServer* shared_tls_nginx()
{
    static const std::unique_ptr<NginxServer> server =
        shared_ca() ? NginxServer::start({.certificate = shared_ca()->good()}) : nullptr;
    return server.get();
}

S3Server* shared_s3()
{
    static const std::unique_ptr<S3Server> server = [] {
        std::unique_ptr<S3Server> started = S3Server::start();
        if (started) {
            ::setenv("AWS_ACCESS_KEY_ID", S3Server::k_access_key, 1);
            ::setenv("AWS_SECRET_ACCESS_KEY", S3Server::k_secret_key, 1);
            ::unsetenv("AWS_SESSION_TOKEN");
            make_bucket(started->endpoint());
        }
        return started;
    }();
    return server.get();
}

std::string fresh_path()
{
    static std::atomic<int> number = 0;
    return fmt::format("test-{}", ++number);
}

std::string s3_url(const std::string& bucket, const std::string& path)
{
    return fmt::format("s3://{}/{}?endpoint={}&region=us-east-1", bucket, path, shared_s3()->endpoint());
}

ScopedVariable::ScopedVariable(const char* name, const std::string& value) : m_name(name)
{
    if (const char* before = std::getenv(name))
        m_before = before;
    ::setenv(name, value.c_str(), 1);
}

ScopedVariable::~ScopedVariable()
{
    if (m_before)
        ::setenv(m_name, m_before->c_str(), 1);
    else
        ::unsetenv(m_name);
}

}  // namespace hearth::test
