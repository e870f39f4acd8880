#pragma once

#include "serve/http_server.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hearth::cli {

std::string name_of_machine();

// Who may ask what. A page of a stranger that the user's browser shows can send requests here, and can give its own
// name this machine's address: so the name that a client asks for is looked at, and changes need a header that such a
// page cannot send. Where others than this machine's users can connect, or may change something, a token is demanded
// too.
class Access {
public:
    enum class Changes : std::uint8_t { forbidden, allowed };

    // Without a token: only for a server that listens on loopback. `names` are those that it is asked for by, beside
    // this machine's.
    Access(std::optional<std::string> token, Changes changes, std::uint16_t port, std::vector<std::string> names);

    // None: the request may be answered. Otherwise the answer that it gets.
    std::optional<HttpResponse> refuse(const HttpRequest& request) const;
    bool allows_changes() const { return m_changes == Changes::allowed; }

private:
    bool knows_host(const std::string& host) const;
    bool has_token(const HttpRequest& request) const;
    std::optional<HttpResponse> sign_in(const HttpRequest& request) const;
    std::optional<HttpResponse> refuse_change(const HttpRequest& request, const std::string& host) const;

    std::optional<std::string> m_token;
    Changes m_changes;
    std::string m_cookie;  // its name: browsers do not tell ports of a host apart
    std::vector<std::string> m_names;
    std::string m_machine;
};

}  // namespace hearth::cli
