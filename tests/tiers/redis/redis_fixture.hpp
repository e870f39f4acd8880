#pragma once

#include "support/redis_server.hpp"
#include "support/remote_stores.hpp"
#include "support/tools.hpp"
#include "tiers/redis/redis_store.hpp"

#include <memory>
#include <string>

namespace hearth::test {

inline std::unique_ptr<remotes::RemoteStore> store_at(const std::string& url)
{
    return tiers::open_redis_store(options_for(url)).value();
}

inline std::string local_url(std::uint16_t port)
{
    return "redis://127.0.0.1:" + std::to_string(port);
}

}  // namespace hearth::test
