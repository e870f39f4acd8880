#pragma once

#include "tiers/http/aws_credentials.hpp"
#include "tiers/http/dialect.hpp"

#include <memory>
#include <optional>
#include <string>

namespace hearth::tiers::http {

struct S3Options {
    std::string bucket_url{};  // "http://HOST:PORT/BUCKET" or "https://BUCKET.s3.REGION.amazonaws.com"
    std::string address{};     // "HOST:PORT"
    bool tls = false;
    std::string bucket{};
    std::string prefix{};  // of every key; empty, or ends with a slash
    std::string region{};
    std::size_t page_keys = 1000;  // in one answer of a list; S3's own limit
};

// S3 and compatible servers. libcurl signs the requests (SigV4), but does not compute the digest of the body. We do,
// without TLS, because then nothing else protects the body; with TLS the body is not signed.
// The answer to HEAD has no body, so has_many() cannot tell a missing bucket from a missing object. DELETE succeeds
// even if there was no object.
class S3Dialect final : public Dialect {
public:
    S3Dialect(S3Options options, AwsSources sources);

    Result<Request> request(Method method, std::string_view name, ByteView body) override;
    bool says_absent(const Answer& answer) const override;
    bool tells_removed() const override { return false; }
    Error refusal(const Answer& answer, Method method) const override;
    Status list(HttpClient& client, const Visit& visit, SteadyTime deadline) override;
    void forget_credentials() override;
    std::string place() const override;

private:
    struct Signer {
        std::shared_ptr<const Login> login;
        std::string token_header;  // empty: none
    };
    Result<Signer> signer();
    Result<Request> signed_request(Method method, std::string url, ByteView body);
    Result<Request> page_request(const std::string& token);

    const S3Options m_options;
    const AwsSources m_sources;
    base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};
    std::optional<Signer> m_signer;  // none until keys are needed
};

}  // namespace hearth::tiers::http
