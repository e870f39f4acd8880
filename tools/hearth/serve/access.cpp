#include "serve/access.hpp"

#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <arpa/inet.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

// "[::1]:8417" -> "::1", "localhost:8417" -> "localhost".
std::string without_port(const std::string& host)
{
    if (host.starts_with('['))
        return host.substr(1, host.find(']') - 1);
    return host.substr(0, host.find(':'));
}

bool is_number(const std::string& host)
{
    std::array<unsigned char, 16> address{};
    return ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
}

// In a time that does not tell where they differ.
bool same_secret(std::string_view a, std::string_view b)
{
    unsigned char difference = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        difference |= static_cast<unsigned char>(a[i] ^ b[i]);
    return difference == 0;
}

HttpResponse refusal(unsigned status, std::string sentence)
{
    return {.status = status, .body = std::move(sentence) + "\n"};
}

}  // namespace

std::string name_of_machine()
{
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

Access::Access(std::optional<std::string> token, Changes changes, std::uint16_t port, std::vector<std::string> names)
    : m_token(std::move(token)), m_changes(changes), m_cookie(fmt::format("hearth_{}", port)),
      m_names(std::move(names)), m_machine(name_of_machine())
{
}

bool Access::knows_host(const std::string& host) const
{
    const std::string name = without_port(host);
    if (name == "localhost" || name == "::1" || (name.starts_with("127.") && is_number(name)) ||
        std::ranges::find(m_names, name) != m_names.end())
        return true;
    // A name of a stranger cannot be a number, and it has no token.
    return m_token && (is_number(name) || name == m_machine || name.starts_with(m_machine + "."));
}

bool Access::has_token(const HttpRequest& request) const
{
    static constexpr std::string_view k_bearer = "Bearer ";
    const std::string given = request.header("Authorization").value_or("");
    return (given.starts_with(k_bearer) && same_secret(std::string_view(given).substr(k_bearer.size()), *m_token)) ||
           same_secret(request.cookie(m_cookie.c_str()).value_or(""), *m_token);
}

// The address that was printed holds the token. It becomes a cookie, so that it does not stay in the address bar.
std::optional<HttpResponse> Access::sign_in(const HttpRequest& request) const
{
    if (request.path() != "/" || !same_secret(request.argument("token").value_or(""), *m_token))
        return std::nullopt;
    return HttpResponse{
        .status = 303,
        .body = "",
        .headers = {{"Location", "/"},
                    {"Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Lax", m_cookie, *m_token)}}};
}

std::optional<HttpResponse> Access::refuse_change(const HttpRequest& request, const std::string& host) const
{
    if (m_changes == Changes::forbidden)
        return refusal(403, "This server changes nothing. Start it with --allow-changes to let it.");
    const std::string site = request.header("Sec-Fetch-Site").value_or("same-origin");
    const std::string origin = request.header("Origin").value_or("http://" + host);
    if (request.header("X-Hearth") != "change" || site != "same-origin" ||
        (origin != "http://" + host && origin != "https://" + host))
        return refusal(403,
                       "A change needs the header \"X-Hearth: change\", from a page of this server or from no page.");
    return std::nullopt;
}

std::optional<HttpResponse> Access::refuse(const HttpRequest& request) const
{
    const std::string host = request.header("Host").value_or("");
    if (!knows_host(host))
        return refusal(
            421,
            fmt::format("This server is not {}. Ask for it by the address that it printed, or start it with --host.",
                        in_quotes(host)));
    const bool changes = request.method() == "POST";
    if (!changes && request.method() != "GET" && request.method() != "HEAD") {
        HttpResponse answer = refusal(405, "Only GET, HEAD and POST are answered.");
        answer.headers.emplace_back("Allow", "GET, HEAD, POST");
        return answer;
    }
    if (m_token) {
        if (std::optional<HttpResponse> signed_in = sign_in(request))
            return signed_in;
        if (!has_token(request)) {
            HttpResponse answer = refusal(401, "A token is needed. Open the address that 'hearth serve' printed, or "
                                               "send it in a header: \"Authorization: Bearer TOKEN\".");
            answer.headers.emplace_back("WWW-Authenticate", "Bearer");
            return answer;
        }
    }
    return changes ? refuse_change(request, host) : std::nullopt;
}

}  // namespace hearth::cli
