#pragma once

#include "hearth/tier.hpp"
#include "remote/remote_store.hpp"
#include "tiers/http/dialect.hpp"
#include "tiers/http/http_client.hpp"

#include <atomic>
#include <memory>

// Addresses:
//
//   http://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]][/PATH]        https:// the same over TLS
//   ?layout=flat        where an object lies: flat PATH/NAME, shards PATH/ab/cd/NAME, bazel PATH/ac/NAME
//   ?token-file=FILE    a file with a token, sent as Authorization: Bearer
//
//   s3://BUCKET[/PREFIX]      keys: AWS_ACCESS_KEY_ID and its like, then ~/.aws/credentials (aws_credentials.hpp)
//   ?endpoint=URL       other servers, http(s)://HOST[:PORT][,HOST[:PORT]]; AWS_ENDPOINT_URL_S3 or Amazon's when none
//   is
//                       given
//   ?region=NAME        AWS_REGION, ~/.aws/config or us-east-1 when none is given
//
//   and those of TLS: remote/tls_options.hpp. Several hosts share what they hold: remote/balanced_store.hpp

namespace hearth::tiers {

// For http, https and s3. Makes no connection; an address that cannot be used is an invalid_argument that says what may
// stand there.
Result<std::unique_ptr<remotes::RemoteStore>> open_http_store(const remotes::StoreOptions& options);

namespace http {

// Objects on an HTTP server, in one of its dialects.
// Thread safety, failure: as RemoteStore. Cost: one request per call; batches send several at once on few connections.
class HttpStore final : public remotes::RemoteStore {
public:
    struct Parts {
        ClientOptions client{};
        std::unique_ptr<Dialect> dialect{};
        std::uint64_t max_object_bytes = 0;
        const Clock* clock = nullptr;  // for leases
    };
    explicit HttpStore(Parts parts);

    std::vector<Result<std::optional<Bytes>>> get_many(std::span<const std::string> names,
                                                       SteadyTime deadline) override;
    std::vector<Result<bool>> has_many(std::span<const std::string> names, SteadyTime deadline) override;
    std::vector<Status> put_many(std::span<const remotes::Object> objects, SteadyTime deadline) override;
    Result<bool> remove(std::string_view name, SteadyTime deadline) override;
    Status list(const Visit& visit, SteadyTime deadline) override;

    // In http_leases.cpp; http_leases.hpp says what they promise on servers without expiry.
    Result<bool> put_if_absent(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                               SteadyTime deadline) override;
    Result<bool> renew(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                       SteadyTime deadline) override;
    Result<bool> remove_if(std::string_view name, ByteView bytes, SteadyTime deadline) override;

    void after_fork() noexcept override { m_client.after_fork(); }
    std::string description() override;

private:
    enum class Conditional : std::uint8_t { unknown, honoured, ignored };

    Result<Request> request(Method method, std::string_view name, ByteView body);
    // Remembers the server's name, and drops the credentials after a refusal, since they may be old.
    void note(const Answer& answer);
    Result<std::optional<Bytes>> body_of(std::string_view name, Result<Answer>& answer);
    Status stored(const Result<Answer>& answer);
    // For an answer that is neither what was asked for nor a plain "not found".
    Error refusal(const Answer& answer, Method method) const;
    // Sends the requests that could be built, and gives each answer or error to `use`.
    void perform_many(std::vector<Result<Request>>& requests, SteadyTime deadline,
                      const std::function<void(std::size_t, Result<Answer>&)>& use);

    Result<bool> put_where_absent(std::string_view name, ByteView bytes, SteadyTime deadline);
    Status probe_conditional(SteadyTime deadline);
    // The object under a lease's name, expired or not.
    Result<std::optional<Bytes>> raw(std::string_view name, SteadyTime deadline);
    Result<bool> holds(std::string_view name, ByteView bytes, SteadyTime deadline);

    HttpClient m_client;
    const std::unique_ptr<Dialect> m_dialect;
    const std::uint64_t m_max_object_bytes;
    const Clock& m_clock;
    // relaxed: the value depends on nothing else
    std::atomic<Conditional> m_conditional = Conditional::unknown;
    std::atomic<bool> m_server_known = false;  // release and acquire: m_server is not written after it
    base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};
    std::string m_server;
};

}  // namespace http

}  // namespace hearth::tiers
