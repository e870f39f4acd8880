#pragma once

#include "remote/store_tier.hpp"
#include "support/isolated_environment.hpp"
#include "support/nginx_server.hpp"
#include "support/remote_stores.hpp"
#include "support/s3_server.hpp"
#include "support/test_ca.hpp"
#include "support/tools.hpp"
#include "tiers/http/http_store.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace hearth::test {

// Of an address that can be parsed and used.
std::unique_ptr<remotes::RemoteStore> open_store(const std::string& url);

// One of each for the whole program: they take long to start. None where the machine has no such thing.
NginxServer* shared_nginx();
NginxServer* shared_tls_nginx();
S3Server* shared_s3();  // with a bucket, and its keys in the environment

constexpr const char* k_bucket = S3Server::k_bucket;
// A path on a shared server that no other test has used.
std::string fresh_path();
// "s3://kernels/PATH?endpoint=..."
std::string s3_url(const std::string& bucket, const std::string& path);

// Cases that need nginx, and shared_ca() where that is said.
class OnNginx : public testing::Test {
protected:
    void SetUp() override
    {
        if (!shared_nginx())
            GTEST_SKIP() << not_installed("nginx");
    }
};

// A tier that says what is wrong to `log`. A slow machine is no reason to fail.
inline remotes::StoreTier open_tier(RemoteOptions options, const Clock& clock, std::string& log)
{
    options.name = "http";
    options.timeout = std::chrono::seconds(20);
    const TierContext context{&clock, [&log](LogLevel, std::string_view line) { log += line; }, lru()};
    return {options, remotes::parse_url(options.url).value(), context, tiers::open_http_store};
}

}  // namespace hearth::test
