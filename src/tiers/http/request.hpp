#pragma once

#include "hearth/bytes.hpp"
#include "remote/remote_store.hpp"
#include "remote/tls_options.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// What is asked of a server and what it answers, in terms of HTTP and without libcurl.

namespace hearth::tiers::http {

using remotes::SteadyTime;

enum class Method : std::uint8_t { get, head, put, remove };

// "GET", for sentences.
const char* name_of(Method method);

// How a request proves who sends it.
struct Login {
    enum class Kind : std::uint8_t { basic, bearer, sigv4 };
    Kind kind = Kind::basic;
    std::string user;    // sigv4: the access key
    std::string secret;  // password, token or secret key
    std::string scope;   // sigv4: "aws:amz:REGION:s3"
};

struct Request {
    Method method = Method::get;
    std::string url{};                   // never with a user or a password
    std::vector<std::string> headers{};  // "Name: value"
    ByteView body{};                     // of a PUT; the caller keeps it until the answer is there
    std::shared_ptr<const Login> login{};
    std::uint64_t max_bytes = 0;  // a longer answer is an error
};

// Any answer that was HTTP, whatever its status.
struct Answer {
    long status = 0;
    Bytes body;          // only the beginning if the status is above 299
    std::string server;  // what it calls itself; empty if it does not say

    bool ok() const noexcept { return status >= 200 && status < 300; }
};

// What all requests to one server have in common.
struct ClientOptions {
    std::string address{};  // "127.0.0.1:8080", for sentences
    bool tls = false;
    remotes::TlsOptions trust{};  // for TLS: whom we trust, and which certificate we show
    std::chrono::milliseconds connect_timeout{100};
    std::size_t max_connections = 8;
};

}  // namespace hearth::tiers::http
