#include "http_fixture.hpp"
#include "remote/store_conformance.hpp"

#include <fmt/format.h>

namespace hearth::test {

namespace {

// On a server that others use too, each with a path of its own.
class HttpStoreServer final : public StoreServer {
public:
    explicit HttpStoreServer(std::string url) : m_url(std::move(url)) {}
    HttpStoreServer(std::string url, std::unique_ptr<NginxServer> server, std::unique_ptr<NginxServer> second = nullptr)
        : m_url(std::move(url)), m_server(std::move(server)), m_second(std::move(second))
    {
    }

    Result<std::unique_ptr<remotes::RemoteStore>> open(const remotes::StoreOptions& options) override
    {
        return tiers::open_http_store(options);
    }
    remotes::StoreOptions options() override { return options_for(m_url); }

private:
    std::string m_url;
    std::unique_ptr<NginxServer> m_server;  // none: a shared one
    std::unique_ptr<NginxServer> m_second;  // for the same files
};

std::unique_ptr<StoreServer> on_nginx(const std::string& options)
{
    NginxServer* const server = shared_nginx();
    if (!server)
        return nullptr;
    return std::make_unique<HttpStoreServer>("http://" + server->address() + "/" + fresh_path() + options);
}

std::unique_ptr<StoreServer> on_tls_nginx()
{
    NginxServer* const server = shared_tls_nginx();
    if (!server)
        return nullptr;
    return std::make_unique<HttpStoreServer>("https://" + server->address() + "/" + fresh_path() +
                                             "?layout=bazel&ca=" + shared_ca()->file());
}

std::unique_ptr<StoreServer> on_conditional_nginx()
{
    auto server = NginxServer::start({.user = "who", .password = "what else", .honours_if_none_match = true});
    if (!server)
        return nullptr;
    const std::string url = "http://who:what%20else@" + server->address();
    return std::make_unique<HttpStoreServer>(url, std::move(server));
}

// Two that are alive, and one where nobody listens.
std::unique_ptr<StoreServer> on_endpoints()
{
    auto server = NginxServer::start({.honours_if_none_match = true});
    auto second = server ? NginxServer::start({.honours_if_none_match = true, .files = server->files()}) : nullptr;
    if (!second)
        return nullptr;
    const std::string url = "http://127.0.0.1:1," + server->address() + "," + second->address();
    return std::make_unique<HttpStoreServer>(url, std::move(server), std::move(second));
}

std::unique_ptr<StoreServer> on_s3()
{
    return shared_s3() ? std::make_unique<HttpStoreServer>(s3_url(k_bucket, fresh_path())) : nullptr;
}

// The same server under two names, and one where nobody listens.
std::unique_ptr<StoreServer> on_s3_endpoints()
{
    if (!shared_s3())
        return nullptr;
    const std::string port = shared_s3()->endpoint().substr(shared_s3()->endpoint().rfind(':'));
    return std::make_unique<HttpStoreServer>(
        fmt::format("s3://{}/{}?endpoint=http://localhost{},127.0.0.1{},127.0.0.1:1&region=us-east-1", k_bucket,
                    fresh_path(), port, port));
}

}  // namespace

// A lease goes by itself where the store can tell that its time has passed, whatever the server knows.
INSTANTIATE_TEST_SUITE_P(
    http, StoreConformance,
    testing::Values(StoreCase{"http", [] { return on_nginx(""); }, false, false},
                    StoreCase{"http_shards", [] { return on_nginx("?layout=shards"); }, false, false},
                    StoreCase{"https_bazel", on_tls_nginx, false, false},
                    StoreCase{"http_password_and_condition", on_conditional_nginx, false},
                    StoreCase{"http_endpoints", on_endpoints, false}, StoreCase{"s3", on_s3, true, false},
                    StoreCase{"s3_endpoints", on_s3_endpoints, true, false}),
    name_of_store);

}  // namespace hearth::test
