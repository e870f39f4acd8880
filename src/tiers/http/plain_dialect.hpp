#pragma once

#include "tiers/http/dialect.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace hearth::tiers::http {

// Where an object lies below the base of a plain HTTP server.
enum class PathLayout : std::uint8_t {
    flat,    // BASE/NAME
    shards,  // BASE/ab/cd/NAME by the first four characters: folders stay small
    bazel,   // BASE/ac/NAME, where servers for Bazel keep objects whose content they do not check
};

struct PlainOptions {
    std::string base{};     // "http://HOST:PORT/PATH", no slash at the end
    std::string address{};  // "HOST:PORT"
    PathLayout layout = PathLayout::flat;
    std::string user{};
    std::string password{};
    std::string token_file{};  // Authorization: Bearer; empty: none
};

// A server that knows PUT, GET, HEAD and DELETE: nginx or Apache with WebDAV, caches for Bazel, many others.
class PlainDialect final : public Dialect {
public:
    explicit PlainDialect(PlainOptions options);

    Result<Request> request(Method method, std::string_view name, ByteView body) override;
    Error refusal(const Answer& answer, Method method) const override;
    Status list(HttpClient& client, const Visit& visit, SteadyTime deadline) override;
    void forget_credentials() override;
    std::string place() const override { return m_options.address; }

private:
    std::string url_of(std::string_view name) const;
    Result<std::shared_ptr<const Login>> login();

    const PlainOptions m_options;
    base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};
    std::shared_ptr<const Login> m_login;  // with a token file: none until it has been read
};

}  // namespace hearth::tiers::http
