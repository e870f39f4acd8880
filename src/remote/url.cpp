#include "remote/url.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace hearth::remotes {

namespace {

constexpr std::size_t k_max_url = 4096;
constexpr std::size_t k_max_hosts = 64;

Error not_a_url(std::string_view why)
{
    // Without the text itself: it may hold a password.
    return error(Code::invalid_argument,
                 "The address of a remote cannot be used: {}. It should look like redis://HOST:PORT, "
                 "redis+cluster://HOST:PORT,HOST:PORT, http://HOST/PATH or s3://BUCKET/PREFIX.",
                 why);
}

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

std::optional<std::string> decoded(std::string_view text)
{
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0)
            return std::nullopt;
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return out;
}

bool is_printable(std::string_view text)
{
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

std::optional<HostPort> parse_host(std::string_view text)
{
    HostPort host;
    std::string_view port;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos)
            return std::nullopt;
        host.host = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
        if (!text.empty() && !text.starts_with(':'))
            return std::nullopt;
        port = text.empty() ? text : text.substr(1);
    } else {
        const std::size_t colon = text.find(':');
        host.host = text.substr(0, colon);
        port = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    }
    if (host.host.empty())
        return std::nullopt;
    if (!port.empty()) {
        const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), host.port);
        if (error != std::errc{} || end != port.data() + port.size() || host.port == 0)
            return std::nullopt;
    }
    return host;
}

}  // namespace

std::optional<std::string> Url::option(std::string_view name) const
{
    const auto found = options.find(std::string(name));
    return found == options.end() ? std::nullopt : std::optional(found->second);
}

std::string Url::shown() const
{
    std::string text = scheme + "://";
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        const bool v6 = hosts[i].host.find(':') != std::string::npos;
        text += fmt::format("{}{}{}{}", i == 0 ? "" : ",", v6 ? "[" : "", hosts[i].host, v6 ? "]" : "");
        if (hosts[i].port != 0)
            text += fmt::format(":{}", hosts[i].port);
    }
    if (!path.empty())
        text += hosts.empty() ? path : "/" + path;
    return text;
}

Result<Url> parse_url(std::string_view text)
{
    if (text.size() > k_max_url)
        return not_a_url(fmt::format("it has {} characters, and {} are the most", text.size(), k_max_url));
    if (!is_printable(text))
        return not_a_url("it holds a blank or a character that is not printable");
    Url url;
    const std::size_t colon = text.find("://");
    if (colon == std::string_view::npos || colon == 0)
        return not_a_url("it has no scheme");
    url.scheme = text.substr(0, colon);
    text.remove_prefix(colon + 3);

    if (const std::size_t question = text.find('?'); question != std::string_view::npos) {
        std::string_view options = text.substr(question + 1);
        text = text.substr(0, question);
        while (!options.empty()) {
            const std::string_view one = options.substr(0, options.find('&'));
            options.remove_prefix(std::min(options.size(), one.size() + 1));
            const std::size_t equals = one.find('=');
            const std::optional<std::string> name = decoded(one.substr(0, equals));
            const std::optional<std::string> value =
                decoded(equals == std::string_view::npos ? std::string_view{} : one.substr(equals + 1));
            if (!name || name->empty() || !value)
                return not_a_url("an option after the question mark is not NAME=VALUE");
            url.options[*name] = *value;
        }
    }
    const std::size_t slash = text.find('/');
    std::string_view authority = text.substr(0, slash);
    const std::optional<std::string> path =
        decoded(slash == std::string_view::npos ? std::string_view{} : text.substr(slash + 1));
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
        const std::string_view who = authority.substr(0, at);
        authority.remove_prefix(at + 1);
        const std::size_t split = who.find(':');
        const std::optional<std::string> user = decoded(who.substr(0, split));
        const std::optional<std::string> password =
            decoded(split == std::string_view::npos ? std::string_view{} : who.substr(split + 1));
        if (!user || !password)
            return not_a_url("its user or password holds a % that is not followed by two hexadecimal digits");
        url.user = *user;
        url.password = *password;
    }
    if (!path)
        return not_a_url("its path holds a % that is not followed by two hexadecimal digits");
    url.path = *path;
    if (url.scheme == "redis+unix") {
        if (!authority.empty() || url.path.empty())
            return not_a_url(
                "redis+unix wants the path of a socket after three slashes, as in redis+unix:///run/redis.sock");
        url.path = "/" + url.path;
        return url;
    }
    while (true) {
        const std::string_view one = authority.substr(0, authority.find(','));
        const std::optional<HostPort> host = parse_host(one);
        if (!host)
            return not_a_url("a host is missing, or its port is not a number from 1 to 65535");
        url.hosts.push_back(*host);
        if (one.size() == authority.size())
            break;
        authority.remove_prefix(one.size() + 1);
        if (url.hosts.size() == k_max_hosts)
            return not_a_url(fmt::format("it names more than {} hosts", k_max_hosts));
    }
    return url;
}

}  // namespace hearth::remotes
