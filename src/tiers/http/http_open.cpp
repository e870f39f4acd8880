#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "remote/balanced_store.hpp"
#include "remote/remote_options.hpp"
#include "remote/store_library.hpp"
#include "tiers/http/http_store.hpp"
#include "tiers/http/plain_dialect.hpp"
#include "tiers/http/s3_dialect.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

// Opens a store from an address: which options it may have, and what they mean.

namespace hearth::tiers::http {

namespace {

using remotes::StoreOptions;
using remotes::Url;

constexpr std::uint64_t k_default_max_object = 1_GiB;
constexpr const char* k_default_region = "us-east-1";

// Only letters, digits and what else host names and addresses have: other characters could get into a request's header.
bool is_host(std::string_view host)
{
    return !host.empty() && std::all_of(host.begin(), host.end(), [](char c) {
        return base::is_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == ':';
    });
}

std::string without_slashes_at_the_ends(std::string_view path)
{
    while (path.starts_with('/'))
        path.remove_prefix(1);
    while (path.ends_with('/'))
        path.remove_suffix(1);
    return std::string(path);
}

// "/a%20b", or nothing.
std::string url_path(std::string_view path)
{
    const std::string plain = without_slashes_at_the_ends(path);
    return plain.empty() ? plain : "/" + remotes::percent_encoded(plain, "/");
}

Result<ClientOptions> client_options(const StoreOptions& options, bool tls, std::string address)
{
    ClientOptions client;
    client.address = std::move(address);
    client.tls = tls;
    client.connect_timeout = options.connect_timeout;
    client.max_connections = std::max<std::size_t>(options.max_connections, 1);
    HEARTH_TRY_SET(remotes::TlsOptions trust,
                   remotes::tls_options(options.url, tls ? remotes::Encrypted::yes : remotes::Encrypted::no));
    client.trust = std::move(trust);
    return client;
}

// The endpoints that `server` names. `url` is the remote's own, for sentences.
Status check_hosts(const Url& url, const Url& server)
{
    std::set<remotes::HostPort> seen;
    for (remotes::HostPort host : server.hosts) {
        if (!is_host(host.host))
            return unusable(url, fmt::format("\"{}\" is no name or address of a host.", base::printable(host.host)));
        const std::string shown = host.shown();
        if (host.port == 0)
            host.port = server.scheme == "https" ? 443 : 80;
        if (!seen.insert(host).second)
            return unusable(url, fmt::format("it names {} twice. Each endpoint is named once.", shown));
    }
    return {};
}

// One store for each endpoint; several are one store.
class Endpoints {
public:
    explicit Endpoints(const StoreOptions& options) : m_options(options) {}

    Status add(bool tls, const std::string& address, std::unique_ptr<Dialect> dialect)
    {
        HEARTH_TRY_SET(ClientOptions client, client_options(m_options, tls, address));
        m_all.push_back({address, std::make_unique<HttpStore>(HttpStore::Parts{
                                      .client = std::move(client),
                                      .dialect = std::move(dialect),
                                      .max_object_bytes = m_options.max_object_bytes != 0 ? m_options.max_object_bytes
                                                                                          : k_default_max_object,
                                      .clock = &base::system_clock(),
                                  })});
        return {};
    }
    Result<std::unique_ptr<remotes::RemoteStore>> open()
    {
        if (m_all.size() == 1)
            return std::move(m_all.front().store);
        return {std::make_unique<remotes::BalancedStore>(std::move(m_all), m_options)};
    }

private:
    const StoreOptions& m_options;
    std::vector<remotes::Endpoint> m_all;
};

Result<PathLayout> layout_of(const Url& url)
{
    const std::string layout = url.option("layout").value_or("flat");
    if (layout == "flat")
        return PathLayout::flat;
    if (layout == "shards")
        return PathLayout::shards;
    if (layout == "bazel")
        return PathLayout::bazel;
    return unusable(url, fmt::format("layout is \"{}\"; it may be flat, shards or bazel.", base::printable(layout)));
}

Result<std::unique_ptr<remotes::RemoteStore>> open_plain(const StoreOptions& options)
{
    const Url& url = options.url;
    HEARTH_TRY(remotes::check_options(url, {"layout", "token-file"}));
    HEARTH_TRY(check_hosts(url, url));
    PlainOptions plain{.user = url.user, .password = url.password, .token_file = url.option("token-file").value_or("")};
    HEARTH_TRY_SET(plain.layout, layout_of(url));
    if (url.option("token-file") && plain.token_file.empty())
        return unusable(url, "token-file is empty; it is the path of a file with a token.");
    if (!plain.token_file.empty() && !plain.user.empty())
        return unusable(url, "it has a user and a token-file. One of them is enough.");
    Endpoints endpoints(options);
    for (const remotes::HostPort& host : url.hosts) {
        plain.address = host.shown();
        plain.base = fmt::format("{}://{}{}", url.scheme, plain.address, url_path(url.path));
        HEARTH_TRY(endpoints.add(url.scheme == "https", plain.address, std::make_unique<PlainDialect>(plain)));
    }
    return endpoints.open();
}

bool is_bucket(std::string_view bucket)
{
    return bucket.size() >= 3 && bucket.size() <= 63 && bucket.front() != '.' && is_host(bucket) &&
           bucket.find(':') == std::string_view::npos;
}

bool is_region(std::string_view region)
{
    return !region.empty() && region.size() <= 64 && is_host(region) && region.find(':') == std::string_view::npos;
}

// Where the bucket is: at endpoints by its path, with Amazon by its host's name. `s3` is what all of them share.
Result<std::vector<S3Options>> find_bucket(const Url& url, const std::optional<std::string>& endpoint, S3Options s3)
{
    if (!endpoint) {
        s3.tls = true;
        // A bucket name with dots fits no certificate: the wildcard is good for one label.
        const bool by_path = s3.bucket.find('.') != std::string::npos;
        s3.address = by_path ? fmt::format("s3.{}.amazonaws.com", s3.region)
                             : fmt::format("{}.s3.{}.amazonaws.com", s3.bucket, s3.region);
        s3.bucket_url = "https://" + s3.address + (by_path ? "/" + s3.bucket : "");
        return std::vector{std::move(s3)};
    }
    const Result<Url> server = remotes::parse_url(*endpoint);
    if (!server.ok() || (server->scheme != "http" && server->scheme != "https") || !server->user.empty() ||
        !server->options.empty())
        return unusable(url, "its endpoint should look like http://HOST:PORT, https://HOST or, if there are several, "
                             "http://HOST:PORT,HOST:PORT. It comes from the option endpoint, AWS_ENDPOINT_URL_S3 or "
                             "AWS_ENDPOINT_URL.");
    HEARTH_TRY(check_hosts(url, *server));
    s3.tls = server->scheme == "https";
    std::vector<S3Options> all;
    for (const remotes::HostPort& host : server->hosts) {
        s3.address = host.shown();
        s3.bucket_url = fmt::format("{}://{}{}/{}", server->scheme, s3.address, url_path(server->path), s3.bucket);
        all.push_back(s3);
    }
    return all;
}

Result<std::unique_ptr<remotes::RemoteStore>> open_s3(const StoreOptions& options)
{
    const Url& url = options.url;
    HEARTH_TRY(remotes::check_options(url, {"endpoint", "region"}));
    if (!url.user.empty() || !url.password.empty())
        return unusable(url, "keys do not belong in the address of a bucket. Set AWS_ACCESS_KEY_ID and "
                             "AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials.");
    if (url.hosts.size() != 1 || url.hosts.front().port != 0 || !is_bucket(url.hosts.front().host))
        return unusable(url, "it should name one bucket, of 3 to 63 letters, digits, '-', '_' and '.'.");
    const AwsSources sources = AwsSources::of_this_process();
    S3Options s3;
    s3.bucket = url.hosts.front().host;
    s3.prefix = without_slashes_at_the_ends(url.path);
    if (!s3.prefix.empty())
        s3.prefix += '/';
    const std::optional<std::string> region = url.option("region");
    s3.region = region ? *region : find_region(sources).value_or(k_default_region);
    if (!is_region(s3.region))
        return unusable(url,
                        fmt::format("region is \"{}\"; it should look like us-east-1.", base::printable(s3.region)));
    const std::optional<std::string> endpoint = url.option("endpoint");
    HEARTH_TRY_SET(const std::vector<S3Options> places,
                   find_bucket(url, endpoint ? endpoint : find_endpoint(sources), std::move(s3)));
    Endpoints endpoints(options);
    for (const S3Options& place : places)
        HEARTH_TRY(endpoints.add(place.tls, place.address, std::make_unique<S3Dialect>(place, sources)));
    return endpoints.open();
}

}  // namespace

}  // namespace hearth::tiers::http

namespace hearth::tiers {

Result<std::unique_ptr<remotes::RemoteStore>> open_http_store(const remotes::StoreOptions& options)
{
    const std::string& scheme = options.url.scheme;
    if (scheme != "http" && scheme != "https" && scheme != "s3")
        return remotes::unusable(options.url, "its scheme is none of http, https and s3.");
    if (!http::curl_ready())
        return error(Code::unavailable, "libcurl could not be set up: is there memory left?");
    return scheme == "s3" ? http::open_s3(options) : http::open_plain(options);
}

}  // namespace hearth::tiers
