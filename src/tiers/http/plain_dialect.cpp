#include "tiers/http/plain_dialect.hpp"

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "tiers/http/http_errors.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>

namespace hearth::tiers::http {

PlainDialect::PlainDialect(PlainOptions options) : m_options(std::move(options))
{
    if (!m_options.user.empty() || !m_options.password.empty())
        m_login = std::make_shared<const Login>(Login{Login::Kind::basic, m_options.user, m_options.password, {}});
}

std::string PlainDialect::url_of(std::string_view name) const
{
    if (m_options.layout == PathLayout::flat)
        return fmt::format("{}/{}", m_options.base, name);
    if (m_options.layout == PathLayout::bazel)
        return fmt::format("{}/ac/{}", m_options.base, name);
    std::string shard(name.substr(0, 4));
    shard.resize(4, '_');
    // ".." would lead to another folder.
    std::replace(shard.begin(), shard.end(), '.', '_');
    return fmt::format("{}/{}/{}/{}", m_options.base, shard.substr(0, 2), shard.substr(2, 2), name);
}

Result<std::shared_ptr<const Login>> PlainDialect::login()
{
    {
        const std::lock_guard lock(m_mutex);
        if (m_login || m_options.token_file.empty())
            return m_login;
    }
    const std::string content = base::read_small_file(m_options.token_file).value_or("");
    const std::string_view token = base::trimmed(content);
    if (token.empty() || token.find_first_of("\r\n") != std::string::npos)
        return error(Code::denied,
                     "The token for {} should be the one line of {}, which is missing, unreadable, empty or has "
                     "more. Put it there, or drop token-file.",
                     m_options.address, m_options.token_file);
    auto read = std::make_shared<const Login>(Login{Login::Kind::bearer, {}, std::string(token), {}});
    const std::lock_guard lock(m_mutex);
    m_login = read;
    return std::shared_ptr<const Login>(std::move(read));
}

void PlainDialect::forget_credentials()
{
    if (m_options.token_file.empty())
        return;
    const std::lock_guard lock(m_mutex);
    m_login.reset();
}

Result<Request> PlainDialect::request(Method method, std::string_view name, ByteView body)
{
    HEARTH_TRY_SET(std::shared_ptr<const Login> who, login());
    return Request{.method = method, .url = url_of(name), .headers = {}, .body = body, .login = std::move(who)};
}

Error PlainDialect::refusal(const Answer& answer, Method method) const
{
    return error_of_status(answer.status, method, m_options.address, {});
}

Status PlainDialect::list(HttpClient&, const Visit&, SteadyTime)
{
    return error(Code::other_version,
                 "{} cannot list what it holds: plain HTTP has no request for that. Use S3 or redis where lists "
                 "are wanted.",
                 m_options.address);
}

}  // namespace hearth::tiers::http
