#include "remote/url.hpp"

#include "base/error.hpp"
#include "base/hex.hpp"
#include "base/text.hpp"
#include "remote/server_kinds.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace hearth::remotes {

namespace {

constexpr std::size_t k_max_url = 4096;
constexpr std::size_t k_max_hosts = 64;

Error not_a_url(std::string_view why)
{
    // Without the text itself: it may hold a password.
    return error(Code::invalid_argument, "The address of a remote cannot be used: {}. It should look like {}.", why,
                 sample_addresses());
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
        std::array<std::uint8_t, 1> byte;
        if (!base::from_hex(text.substr(i + 1, 2), byte))
            return std::nullopt;
        out += static_cast<char>(byte[0]);
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
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos)
            return std::nullopt;
        host.host = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
        if (!text.empty() && !text.starts_with(':'))
            return std::nullopt;
    } else {
        host.host = text.substr(0, text.find(':'));
        text.remove_prefix(host.host.size());
    }
    if (!text.empty()) {
        text.remove_prefix(1);
        host.port = base::parse_number<std::uint16_t>(text).value_or(0);
        if (host.port == 0)
            return std::nullopt;
    }
    return host.host.empty() ? std::nullopt : std::optional(host);
}

Status read_options(std::string_view text, Url& url)
{
    while (!text.empty()) {
        std::string_view rest = base::take_until('&', text);
        const std::optional<std::string> name = decoded(base::take_until('=', rest));
        const std::optional<std::string> value = decoded(rest);
        if (!name || name->empty() || !value)
            return not_a_url("an option after the question mark is not NAME=VALUE");
        url.options[*name] = *value;
    }
    return {};
}

Status read_hosts(std::string_view text, Url& url)
{
    for (bool more = true; more;) {
        if (url.hosts.size() == k_max_hosts)
            return not_a_url(fmt::format("it names more than {} hosts", k_max_hosts));
        more = text.find(',') != std::string_view::npos;
        const std::optional<HostPort> host = parse_host(base::take_until(',', text));
        if (!host)
            return not_a_url("a host is missing, or its port is not a number from 1 to 65535");
        url.hosts.push_back(*host);
    }
    return {};
}

}  // namespace

std::string HostPort::shown() const
{
    const std::string name = host.find(':') != std::string::npos ? fmt::format("[{}]", host) : host;
    return port == 0 ? name : fmt::format("{}:{}", name, port);
}

std::optional<std::string> Url::option(std::string_view name) const
{
    const auto found = options.find(std::string(name));
    return found == options.end() ? std::nullopt : std::optional(found->second);
}

std::string Url::shown() const
{
    std::string text = scheme + "://";
    for (std::size_t i = 0; i < hosts.size(); ++i)
        text += (i == 0 ? "" : ",") + hosts[i].shown();
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

    std::string_view place = base::take_until('?', text);
    HEARTH_TRY(read_options(text, url));
    std::string_view authority = base::take_until('/', place);
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
        std::string_view password = authority.substr(0, at);
        authority.remove_prefix(at + 1);
        const std::optional<std::string> user = decoded(base::take_until(':', password));
        const std::optional<std::string> secret = decoded(password);
        if (!user || !secret)
            return not_a_url("its user or password holds a % that is not followed by two hexadecimal digits");
        url.user = *user;
        url.password = *secret;
    }
    const std::optional<std::string> path = decoded(place);
    if (!path)
        return not_a_url("its path holds a % that is not followed by two hexadecimal digits");
    url.path = *path;
    if (!url.scheme.ends_with("+unix")) {
        HEARTH_TRY(read_hosts(authority, url));
        return url;
    }
    if (!authority.empty() || url.path.empty())
        return not_a_url(fmt::format("{0} wants the path of a socket after three slashes, as in {0}:///run/server.sock",
                                     url.scheme));
    url.path = "/" + url.path;
    return url;
}

std::string percent_encoded(std::string_view text, std::string_view also)
{
    std::string out;
    out.reserve(text.size());
    for (const char c : text) {
        if (base::is_letter_or_digit(c) || std::string_view("-_.~").find(c) != std::string_view::npos ||
            also.find(c) != std::string_view::npos)
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

Error unusable(const Url& url, std::string_view why)
{
    return error(Code::invalid_argument, "The remote {} cannot be used: {}", url.shown(), why);
}

}  // namespace hearth::remotes
