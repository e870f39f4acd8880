#pragma once

#include "support/nginx_server.hpp"
#include "support/remote_stores.hpp"
#include "support/s3_server.hpp"
#include "support/test_ca.hpp"
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

constexpr const char* k_bucket = "kernels";
// A path on a shared server that no other test has used.
std::string fresh_path();
// "s3://kernels/PATH?endpoint=..."
std::string s3_url(const std::string& bucket, const std::string& path);

// Sets a variable, and puts back what was there.
class ScopedVariable {
public:
    ScopedVariable(const char* name, const std::string& value);
    ~ScopedVariable();
    ScopedVariable(const ScopedVariable&) = delete;
    ScopedVariable& operator=(const ScopedVariable&) = delete;

private:
    const char* m_name;
    std::optional<std::string> m_before;
};

}  // namespace hearth::test
