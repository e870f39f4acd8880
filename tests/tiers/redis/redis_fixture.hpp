#pragma once

#include "remote/store_conformance.hpp"
#include "support/redis_server.hpp"
#include "support/sample_entries.hpp"
#include "tiers/redis/redis_store.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace hearth::test {

inline remotes::SteadyTime in(std::chrono::milliseconds time)
{
    return std::chrono::steady_clock::now() + time;
}

inline remotes::SteadyTime soon()
{
    return in(std::chrono::seconds(20));
}

inline remotes::StoreOptions options_for(const std::string& url)
{
    remotes::StoreOptions options;
    options.url = remotes::parse_url(url).value();
    options.connect_timeout = std::chrono::seconds(5);
    options.max_object_bytes = 64_MiB;
    return options;
}

inline std::unique_ptr<remotes::RemoteStore> store_at(const std::string& url)
{
    return tiers::open_redis_store(options_for(url)).value();
}

inline std::string local_url(std::uint16_t port)
{
    return "redis://127.0.0.1:" + std::to_string(port);
}

inline Bytes bytes_for(std::uint64_t number, std::size_t size)
{
    return sample_bytes(numbered_key(number), size);
}

inline std::string name_for(std::uint64_t number)
{
    return numbered_key(number).hex();
}

// The code of what should have failed; `ok` says that it did not.
template <class T>
std::string code_of(const Result<T>& result)
{
    if (result.ok())
        return "ok";
    switch (result.error().code) {
    case Code::unavailable:
        return "unavailable";
    case Code::timeout:
        return "timeout";
    case Code::denied:
        return "denied";
    case Code::corrupt:
        return "corrupt";
    case Code::too_large:
        return "too_large";
    case Code::other_version:
        return "other_version";
    case Code::invalid_argument:
        return "invalid_argument";
    case Code::no_space:
        return "no_space";
    default:
        return "another code: " + result.error().message;
    }
}

#define HEARTH_NEEDS_REDIS()                                                                                           \
    if (!has_redis())                                                                                                  \
    GTEST_SKIP() << "redis-server is not installed: scripts/install-deps test"

}  // namespace hearth::test
