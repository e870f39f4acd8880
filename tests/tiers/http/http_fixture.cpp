#include "http_fixture.hpp"

#include <atomic>
#include <cstdlib>
#include <fmt/format.h>

namespace hearth::test {

namespace {

// Servers of this machine are not to be reached through a proxy, whatever the environment says.
[[maybe_unused]] const int g_no_proxy = ::setenv("no_proxy", "*", 1);

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

}  // namespace hearth::test
