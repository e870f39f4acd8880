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

    // Fails if there are no credentials to send it with. Leaves max_bytes unset.
    virtual Result<Request> request(Method method, std::string_view name, ByteView body) = 0;
    // Whether the answer says that there is no such object, and not that something is wrong.
    virtual bool says_absent(const Answer& answer) const { return answer.status == 404 || answer.status == 410; }
    // Whether its answer to DELETE tells if there was an object. S3's does not.
    virtual bool tells_removed() const { return true; }
    virtual Error refusal(const Answer& answer, Method method) const = 0;
    virtual Status list(HttpClient& client, const Visit& visit, SteadyTime deadline) = 0;
    // Called when the server refused them: they are read again for the next request, since they may have been replaced.
    virtual void forget_credentials() = 0;
    // "bucket kernels at 127.0.0.1:8080", without what the server calls itself.
    virtual std::string place() const = 0;
};

}  // namespace hearth::tiers::http
