#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "remote/remote_options.hpp"
#include "remote/store_library.hpp"
#include "tiers/http/http_store.hpp"
#include "tiers/http/plain_dialect.hpp"
#include "tiers/http/s3_dialect.hpp"

#include <algorithm>
#include <fmt/format.h>

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

Result<std::unique_ptr<remotes::RemoteStore>> make_store(const StoreOptions& options, ClientOptions client,
                                                         std::unique_ptr<Dialect> dialect)
{
    return std::unique_ptr<remotes::RemoteStore>(std::make_unique<HttpStore>(HttpStore::Parts{
        .client = std::move(client),
        .dialect = std::move(dialect),
        .max_object_bytes = options.max_object_bytes != 0 ? options.max_object_bytes : k_default_max_object,
        .clock = &base::system_clock(),
    }));
}

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
    if (url.hosts.size() != 1 || !is_host(url.hosts.front().host))
        return unusable(url, "it should name one host.");
    HEARTH_TRY_SET(const PathLayout layout, layout_of(url));
    const std::string address = url.hosts.front().shown();
    HEARTH_TRY_SET(ClientOptions client, client_options(options, url.scheme == "https", address));
    PlainOptions plain{.base = fmt::format("{}://{}{}", url.scheme, address, url_path(url.path)),
                       .address = address,
                       .layout = layout,
                       .user = url.user,
                       .password = url.password,
                       .token_file = url.option("token-file").value_or("")};
    if (url.option("token-file") && plain.token_file.empty())
        return unusable(url, "token-file is empty; it is the path of a file with a token.");
    if (!plain.token_file.empty() && !plain.user.empty())
        return unusable(url, "it has a user and a token-file. One of them is enough.");
    return make_store(options, std::move(client), std::make_unique<PlainDialect>(std::move(plain)));
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

// Where the bucket is: at an endpoint by its path, with Amazon by its host's name.
Status find_bucket(const Url& url, const std::optional<std::string>& endpoint, S3Options& s3)
{
    if (!endpoint) {
        s3.tls = true;
        // A bucket name with dots fits no certificate: the wildcard is good for one label.
        const bool by_path = s3.bucket.find('.') != std::string::npos;
        s3.address = by_path ? fmt::format("s3.{}.amazonaws.com", s3.region)
                             : fmt::format("{}.s3.{}.amazonaws.com", s3.bucket, s3.region);
        s3.bucket_url = "https://" + s3.address + (by_path ? "/" + s3.bucket : "");
        return {};
    }
    const Result<Url> server = remotes::parse_url(*endpoint);
    if (!server.ok() || (server->scheme != "http" && server->scheme != "https") || server->hosts.size() != 1 ||
        !is_host(server->hosts.front().host) || !server->user.empty() || !server->options.empty())
        return unusable(url, "its endpoint should look like http://HOST:PORT or https://HOST. It comes from the option "
                             "endpoint, AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL.");
    s3.tls = server->scheme == "https";
    s3.address = server->hosts.front().shown();
    s3.bucket_url = fmt::format("{}://{}{}/{}", server->scheme, s3.address, url_path(server->path), s3.bucket);
    return {};
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
    AwsSources sources = AwsSources::of_this_process();
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
    HEARTH_TRY(find_bucket(url, endpoint ? endpoint : find_endpoint(sources), s3));
    HEARTH_TRY_SET(ClientOptions client, client_options(options, s3.tls, s3.address));
    return make_store(options, std::move(client), std::make_unique<S3Dialect>(std::move(s3), std::move(sources)));
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
