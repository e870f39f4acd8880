#include "http_fixture.hpp"
#include "remote/server_conformance.hpp"
#include "remote/store_conformance.hpp"

#include <fmt/format.h>

namespace hearth::test {

namespace {

std::optional<StoreServer> on_nginx(const std::string& options)
{
    if (!shared_nginx())
        return std::nullopt;
    return StoreServer{tiers::open_http_store,
                       fmt::format("http://{}/{}{}", shared_nginx()->address(), fresh_path(), options)};
}

std::optional<StoreServer> on_tls_nginx()
{
    if (!shared_tls_nginx())
        return std::nullopt;
    return StoreServer{tiers::open_http_store,
                       fmt::format("https://{}/{}?layout=bazel&ca={}", shared_tls_nginx()->address(), fresh_path(),
                                   shared_ca()->file())};
}

std::optional<StoreServer> on_conditional_nginx()
{
    const std::shared_ptr<NginxServer> server =
        NginxServer::start({.user = "who", .password = "what else", .honours_if_none_match = true});
    if (!server)
        return std::nullopt;
    return StoreServer{tiers::open_http_store, "http://who:what%20else@" + server->address(), server};
}

// Two that are alive, with the same files, and one where nobody listens.
std::optional<StoreServer> on_endpoints()
{
    const std::shared_ptr<NginxServer> server = NginxServer::start({.honours_if_none_match = true});
    if (!server)
        return std::nullopt;
    const std::shared_ptr<NginxServer> second =
        NginxServer::start({.honours_if_none_match = true, .files = server->files()});
    return StoreServer{tiers::open_http_store, "http://127.0.0.1:1," + server->address() + "," + second->address(),
                       std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(server, second)};
}

std::optional<StoreServer> on_s3()
{
    if (!shared_s3())
        return std::nullopt;
    return StoreServer{tiers::open_http_store, s3_url(k_bucket, fresh_path())};
}

// The same server under two names, and one where nobody listens.
std::optional<StoreServer> on_s3_endpoints()
{
    if (!shared_s3())
        return std::nullopt;
    const std::string port = shared_s3()->endpoint().substr(shared_s3()->endpoint().rfind(':'));
    return StoreServer{tiers::open_http_store,
                       fmt::format("s3://{}/{}?endpoint=http://localhost{},127.0.0.1{},127.0.0.1:1&region=us-east-1",
                                   k_bucket, fresh_path(), port, port)};
}

OwnServer start_own(const NginxOptions& options)
{
    const std::shared_ptr<NginxServer> server = NginxServer::start(options);
    const auto start_again = [server] {
        server->start_again();
        EXPECT_TRUE(server->process().listens_at(server->port()));
    };
    return {server->port(), &server->process(), start_again, server};
}

NginxOptions nginx_options(const ServerSetup& setup)
{
    return {.certificate = setup.certificate,
            .clients_authority = setup.clients_authority,
            .insists_on_certificates = setup.insists_on_certificates,
            .tls_versions = setup.tls_versions};
}

ServerKind own_nginx()
{
    return {.name = "http",
            .open = tiers::open_http_store,
            .installed = [] { return has_command("nginx"); },
            .url =
                [](const Place& place) {
                    return fmt::format("{}://{}{}:{}?{}", place.tls ? "https" : "http", place.login, place.host,
                                       place.port, place.options);
                },
            .start =
                [](const ServerSetup& setup) {
                    NginxOptions options = nginx_options(setup);
                    if (setup.demands_login)
                        options.user = "who", options.password = "r1ght-hush";
                    return start_own(options);
                },
            .right_login = "who:r1ght-hush@",
            .wrong_logins = {"who:wr0ng-hush@", "somebody:wr0ng-hush@", ""},
            .calls_itself = "nginx/",
            .sends_a_gigabyte = "HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n",
            .takes_all = "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n",
            .lists = false,
            .leases = false};
}

// Swift, which all cases share, behind an nginx of each: that one has certificates, hangs and ends.
ServerKind own_s3()
{
    ServerKind kind = own_nginx();
    kind.name = "s3";
    kind.installed = [] { return has_command("nginx") && shared_s3() != nullptr; };
    kind.url = [](const Place& place) {
        return fmt::format("s3://{}/{}?endpoint={}://{}:{}&region=us-east-1{}{}", k_bucket, fresh_path(),
                           place.tls ? "https" : "http", place.host, place.port, place.options.empty() ? "" : "&",
                           place.options);
    };
    kind.start = [](const ServerSetup& setup) {
        NginxOptions options = nginx_options(setup);
        options.before = shared_s3()->endpoint();
        return start_own(options);
    };
    kind.right_login = "";
    kind.wrong_logins = {""};
    kind.spoil_secret = [] {
        const auto environment = std::make_shared<IsolatedEnvironment>();
        environment->set("AWS_SECRET_ACCESS_KEY", "wr0ng-hush");
        return environment;
    };
    kind.lists = true;
    return kind;
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
    testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(http, TlsConformance, testing::Values(own_nginx(), own_s3()),
                         testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(http, FaultConformance,
                         testing::Values(own_nginx(), over_tls(own_nginx()), own_s3(), over_tls(own_s3())),
                         testing::PrintToStringParamName());

}  // namespace hearth::test
