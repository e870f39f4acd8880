#include "tiers/redis/redis_settings.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/format.h>
#include <sys/un.h>

namespace hearth::tiers::redis {

namespace {

constexpr std::uint16_t k_default_port = 6379;
constexpr std::size_t k_max_prefix = 256;
constexpr std::uint64_t k_max_value = 512_MiB;  // redis's own limit

// The remote tier's own, in the same address.
constexpr std::array<std::string_view, 7> k_options_of_the_tier = {"name",  "read-only", "timeout", "connect-timeout",
                                                                   "trust", "lease",     "queue"};

Error unusable(const remotes::Url& url, std::string_view why)
{
    return error(Code::invalid_argument, "The remote {} cannot be used: {}", url.shown(), why);
}

bool is_known(std::string_view option, bool tls)
{
    const auto& of_tls = remotes::k_names_of_tls_options;
    if (option == "prefix" || (tls && std::find(of_tls.begin(), of_tls.end(), option) != of_tls.end()))
        return true;
    return std::find(k_options_of_the_tier.begin(), k_options_of_the_tier.end(), option) != k_options_of_the_tier.end();
}

Status read_options(const remotes::Url& url, bool tls, RedisSettings& settings)
{
    for (const auto& [name, value] : url.options)
        if (!is_known(name, tls))
            return unusable(
                url, fmt::format("it has an option \"{}\". Those of redis are prefix{}, beside name, "
                                 "read-only, timeout, connect-timeout, trust, lease and queue.",
                                 name,
                                 tls ? ", ca, insecure, cert and key" : " (and of rediss ca, insecure, cert and key)"));
    if (const auto prefix = url.option("prefix")) {
        if (prefix->size() > k_max_prefix)
            return unusable(
                url, fmt::format("its prefix has {} characters, and {} are the most.", prefix->size(), k_max_prefix));
        settings.prefix = *prefix;
    }
    if (!tls)
        return {};
    const Result<remotes::TlsOptions> options = remotes::tls_options(url);
    if (!options.ok())
        return unusable(url, options.error().message);
    Result<std::shared_ptr<const TlsContext>> context = TlsContext::make(*options);
    if (!context.ok())
        return unusable(url, context.error().message);
    settings.tls = *std::move(context);
    return {};
}

Status read_database(const remotes::Url& url, RedisSettings& settings)
{
    if (url.path.empty())
        return {};
    if (settings.topology == Topology::cluster)
        return unusable(url, "it names a database, and a cluster has only one. Leave the path out.");
    const char* const end = url.path.data() + url.path.size();
    const auto [stop, error] = std::from_chars(url.path.data(), end, settings.database);
    if (error != std::errc{} || stop != end)
        return unusable(url, "its path is the number of a database, as in redis://HOST/2.");
    return {};
}

}  // namespace

Result<RedisSettings> redis_settings(const remotes::StoreOptions& options)
{
    const remotes::Url& url = options.url;
    RedisSettings settings;
    const bool tls = url.scheme == "rediss" || url.scheme == "rediss+cluster";
    if (url.scheme == "redis+cluster" || url.scheme == "rediss+cluster")
        settings.topology = Topology::cluster;
    else if (url.scheme != "redis" && url.scheme != "rediss" && url.scheme != "redis+unix")
        return unusable(url, "its scheme is none of redis, rediss, redis+unix, redis+cluster and rediss+cluster.");
    HEARTH_TRY(read_options(url, tls, settings));

    if (url.scheme == "redis+unix") {
        if (url.path.size() >= sizeof(sockaddr_un::sun_path))
            return unusable(url, fmt::format("its path has {} characters, and a socket's has {} at most.",
                                             url.path.size(), sizeof(sockaddr_un::sun_path) - 1));
        settings.endpoints.push_back({{}, 0, url.path});
    } else {
        if (url.hosts.empty())
            return unusable(url, "it names no host.");
        if (settings.topology == Topology::single && url.hosts.size() != 1)
            return unusable(url, fmt::format("it names {} hosts. Several are for redis+cluster.", url.hosts.size()));
        for (const remotes::HostPort& host : url.hosts)
            settings.endpoints.push_back({host.host, host.port != 0 ? host.port : k_default_port, {}});
        HEARTH_TRY(read_database(url, settings));
    }
    if (!url.user.empty() && url.password.empty())
        return unusable(url, "it names a user and no password. Write USER:PASSWORD@ before the host, or neither.");
    settings.user = url.user;
    settings.password = url.password;
    settings.connect_timeout = options.connect_timeout;
    settings.max_object_bytes = options.max_object_bytes != 0 ? options.max_object_bytes : k_max_value;
    settings.max_connections = std::max<std::size_t>(options.max_connections, 1);
    return settings;
}

}  // namespace hearth::tiers::redis
