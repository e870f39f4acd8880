#include "tiers/http/plain_dialect.hpp"

#include "base/error.hpp"

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
    switch (m_options.layout) {
    case PathLayout::flat:
        break;
    case PathLayout::shards: {
        std::string shard(name.substr(0, 4));
        shard.resize(4, '_');
        // A folder called ".." would be another one.
        for (char& c : shard)
            c = c == '.' ? '_' : c;
        return fmt::format("{}/{}/{}/{}", m_options.base, shard.substr(0, 2), shard.substr(2, 2), name);
    }
    case PathLayout::bazel:
        return fmt::format("{}/ac/{}", m_options.base, name);
    }
    return fmt::format("{}/{}", m_options.base, name);
}

Result<std::shared_ptr<const Login>> PlainDialect::login()
{
    {
        const std::lock_guard lock(m_mutex);
        if (m_login || m_options.token_file.empty())
            return m_login;
    }
    std::optional<std::string> token = read_small_file(m_options.token_file);
    if (token)
        while (!token->empty() && static_cast<unsigned char>(token->back()) <= ' ')
            token->pop_back();
    if (!token || token->empty() || token->find_first_of("\r\n") != std::string::npos)
        return Error{
            Code::denied,
            fmt::format("The token for {} should be the one line of {}, which is missing, unreadable, empty or "
                        "has more. Put it there, or drop token-file.",
                        m_options.address, m_options.token_file),
            {}};
    auto read = std::make_shared<const Login>(Login{Login::Kind::bearer, {}, *std::move(token), {}});
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
    Result<std::shared_ptr<const Login>> who = login();
    HEARTH_TRY(who);
    return Request{.method = method, .url = url_of(name), .headers = {}, .body = body, .login = *std::move(who)};
}

Error PlainDialect::refusal(const Answer& answer, Method method) const
{
    return error_of_status(answer.status, method, m_options.address, {});
}

Status PlainDialect::list(HttpClient&, const Visit&, SteadyTime)
{
    return error(Code::other_version,
                 "{} cannot list what it holds: plain HTTP has no request for that. Use S3 or redis where "
                 "lists are wanted.",
                 m_options.address);
}

}  // namespace hearth::tiers::http
