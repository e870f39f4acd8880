#pragma once

#include "tiers/http/http_client.hpp"
#include "tiers/http/request.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace hearth::tiers::http {

using Visit = std::function<bool(std::string_view name, std::uint64_t bytes)>;

// What tells one kind of HTTP server from another: where an object lies, how we log in, what its refusals mean.
// Thread safety: every function, from any thread.
class Dialect {
public:
    virtual ~Dialect() = default;

    // Fails where there are no credentials to send it with. Without max_bytes.
    virtual Result<Request> request(Method method, std::string_view name, ByteView body) = 0;
    // Whether the answer says that there is no such object, and not that something is wrong.
    virtual bool says_absent(const Answer& answer) const { return answer.status == 404 || answer.status == 410; }
    // Whether its answer to DELETE says that there was something. S3's does not.
    virtual bool tells_removed() const { return true; }
    virtual Error refusal(const Answer& answer, Method method) const = 0;
    virtual Status list(HttpClient& client, const Visit& visit, SteadyTime deadline) = 0;
    // The server refused them: they are read again for the next request, for they may have been replaced meanwhile.
    virtual void forget_credentials() = 0;
    // "bucket kernels at 127.0.0.1:8080", without what the server calls itself.
    virtual std::string place() const = 0;
};

}  // namespace hearth::tiers::http
