#include "tiers/http/s3_dialect.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/hex.hpp"
#include "tiers/http/http_errors.hpp"
#include "tiers/http/s3_answers.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>

namespace hearth::tiers::http {

namespace {

// A thousand keys of at most a KB, each in some three hundred bytes of XML.
constexpr std::uint64_t k_max_page = 4_MiB;

std::string digest_of(ByteView body)
{
    const base::Sha256 digest = base::sha256(body);
    return base::to_hex(std::as_bytes(std::span(digest)));
}

}  // namespace

S3Dialect::S3Dialect(S3Options options, AwsSources sources)
    : m_options(std::move(options)), m_sources(std::move(sources))
{
}

std::string S3Dialect::place() const
{
    return fmt::format("bucket {} at {}", m_options.bucket, m_options.address);
}

Result<S3Dialect::Signer> S3Dialect::signer()
{
    {
        const std::lock_guard lock(m_mutex);
        if (m_signer)
            return *m_signer;
    }
    HEARTH_TRY_SET(AwsCredentials keys, find_credentials(m_sources));
    Signer signer;
    signer.login = std::make_shared<const Login>(
        Login{Login::Kind::sigv4, keys.access_key, keys.secret_key, fmt::format("aws:amz:{}:s3", m_options.region)});
    if (!keys.session_token.empty())
        signer.token_header = "x-amz-security-token: " + keys.session_token;
    const std::lock_guard lock(m_mutex);
    m_signer = signer;
    return signer;
}

void S3Dialect::forget_credentials()
{
    const std::lock_guard lock(m_mutex);
    m_signer.reset();
}

Result<Request> S3Dialect::signed_request(Method method, std::string url, ByteView body)
{
    HEARTH_TRY_SET(Signer who, signer());
    Request request{.method = method, .url = std::move(url), .headers = {}, .body = body, .login = who.login};
    request.headers.push_back("x-amz-content-sha256: " + (m_options.tls ? "UNSIGNED-PAYLOAD" : digest_of(body)));
    if (!who.token_header.empty())
        request.headers.push_back(who.token_header);
    return request;
}

Result<Request> S3Dialect::request(Method method, std::string_view name, ByteView body)
{
    return signed_request(
        method, fmt::format("{}/{}{}", m_options.bucket_url, remotes::percent_encoded(m_options.prefix, "/"), name),
        body);
}

bool S3Dialect::says_absent(const Answer& answer) const
{
    return Dialect::says_absent(answer) && error_code_of(answer.body.text()) != "NoSuchBucket";
}

Error S3Dialect::refusal(const Answer& answer, Method method) const
{
    const std::string code = error_code_of(answer.body.text());
    if (code == "NoSuchBucket")
        return error(Code::unavailable, "{} has no bucket \"{}\". Create it, or name another in s3://BUCKET.",
                     m_options.address, m_options.bucket);
    if (answer.status >= 300 && answer.status < 400)
        return error(Code::unavailable,
                     "{} answered with {}: it wants to be asked elsewhere. Name the bucket's own region with "
                     "?region=NAME, or its address with ?endpoint=URL.",
                     place(), answer.status);
    return error_of_status(answer.status, method, place(), code);
}

Result<Request> S3Dialect::page_request(const std::string& token)
{
    // Sorted by name: libcurl 7.88 signs a query in the order in which it is written.
    std::string url = m_options.bucket_url + "/?";
    if (!token.empty())
        url += "continuation-token=" + remotes::percent_encoded(token) + "&";
    url += fmt::format("list-type=2&max-keys={}&prefix={}", m_options.page_keys,
                       remotes::percent_encoded(m_options.prefix));
    Result<Request> request = signed_request(Method::get, std::move(url), {});
    if (request.ok())
        request->max_bytes = k_max_page;
    return request;
}

Status S3Dialect::list(HttpClient& client, const Visit& visit, SteadyTime deadline)
{
    std::string token;
    while (true) {
        HEARTH_TRY_SET(const Request request, page_request(token));
        const SteadyTime until = std::min(deadline, std::chrono::steady_clock::now() + remotes::k_list_part);
        HEARTH_TRY_SET(const Answer answer, client.perform(request, until));
        if (answer.status == 401 || answer.status == 403)
            forget_credentials();
        if (answer.status != 200)
            return refusal(answer, Method::get);
        HEARTH_TRY_SET(const ListingPage page, parse_listing(answer.body.text()));
        for (const ListedObject& object : page.objects) {
            const std::optional<std::string_view> name = listed_name(object.key, m_options.prefix);
            if (name && !visit(*name, object.bytes))
                return {};
        }
        if (!page.truncated || !visit({}, 0))
            return {};
        if (page.next_token == token)
            return not_http(place(), "its list goes on at the place where it was");
        token = page.next_token;
    }
}

}  // namespace hearth::tiers::http
