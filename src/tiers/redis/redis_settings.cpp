#include "tiers/redis/redis_settings.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "remote/remote_options.hpp"
#include "tiers/redis/tls.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sys/un.h>

namespace hearth::tiers::redis {

namespace {

using remotes::Url;

constexpr std::uint16_t k_default_port = 6379;
constexpr std::size_t k_max_prefix = 256;
constexpr std::uint64_t k_max_value = 512_MiB;  // redis's own limit

Status read_options(const Url& url, RedisSettings& settings)
{
    HEARTH_TRY(remotes::check_options(url, {"prefix"}));
    settings.prefix = url.option("prefix").value_or(settings.prefix);
    if (settings.prefix.size() > k_max_prefix)
        return unusable(url, fmt::format("its prefix has {} characters, and {} are the most.", settings.prefix.size(),
                                         k_max_prefix));
    const bool tls = url.scheme.starts_with("rediss");
    HEARTH_TRY_SET(const remotes::TlsOptions options,
                   remotes::tls_options(url, tls ? remotes::Encrypted::yes : remotes::Encrypted::no));
    if (!tls)
        return {};
    Result<std::shared_ptr<const TlsContext>> context = TlsContext::make(options);
    if (!context.ok())
        return unusable(url, context.error().message);
    settings.tls = *std::move(context);
    return {};
}

Status read_place(const Url& url, RedisSettings& settings)
{
    if (url.scheme == "redis+unix") {
        constexpr std::size_t k_longest = sizeof(sockaddr_un::sun_path) - 1;
        if (url.path.size() > k_longest)
            return unusable(url, fmt::format("its path has {} characters, and a socket's has {} at most.",
                                             url.path.size(), k_longest));
        settings.endpoints.push_back({{}, 0, url.path});
        return {};
    }
    if (settings.topology == Topology::single && url.hosts.size() != 1)
        return unusable(url, fmt::format("it names {} hosts. Several are for redis+cluster.", url.hosts.size()));
    for (const remotes::HostPort& host : url.hosts)
        settings.endpoints.push_back({host.host, host.port != 0 ? host.port : k_default_port, {}});
    if (url.path.empty())
        return {};
    if (settings.topology == Topology::cluster)
        return unusable(url, "it names a database, and a cluster has only one. Leave the path out.");
    const std::optional<std::uint32_t> database = base::parse_number<std::uint32_t>(url.path);
    if (!database)
        return unusable(url, "its path is the number of a database, as in redis://HOST/2.");
    settings.database = *database;
    return {};
}

}  // namespace

Result<RedisSettings> redis_settings(const remotes::StoreOptions& options)
{
    const Url& url = options.url;
    RedisSettings settings;
    if (url.scheme == "redis+cluster" || url.scheme == "rediss+cluster")
        settings.topology = Topology::cluster;
    else if (url.scheme != "redis" && url.scheme != "rediss" && url.scheme != "redis+unix")
        return unusable(url, "its scheme is none of redis, rediss, redis+unix, redis+cluster and rediss+cluster.");
    HEARTH_TRY(read_options(url, settings));
    HEARTH_TRY(read_place(url, settings));
    if (!url.user.empty() && url.password.empty())
        return unusable(url, "it names a user and no password. Write USER:PASSWORD@ before the host, or neither.");
    settings.user = url.user;
    settings.password = url.password;
    settings.connect_timeout = options.connect_timeout;
    settings.max_object_bytes = options.max_object_bytes != 0 ? options.max_object_bytes : k_max_value;
    settings.max_connections = std::max<std::size_t>(options.max_connections, 1);
    settings.state_file = options.state_file;
    settings.state_users = options.state_users;
    return settings;
}

}  // namespace hearth::tiers::redis
