#pragma once

#include "support/remote_stores.hpp"
#include "support/server_process.hpp"
#include "support/test_ca.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

// What every RemoteStore promises where servers have certificates or demand them, refuse, hang, end, or send too much.
// Every case starts servers of its own. A kind joins with a ServerKind.

namespace hearth::test {

struct ServerSetup {
    std::optional<TestCa::Certificate> certificate = std::nullopt;  // none: in the clear
    std::string clients_authority{};      // with a certificate: who vouches for clients; empty: they are not asked
    bool insists_on_certificates = true;  // else a client that shows none is served too
    std::string tls_versions{};           // "TLSv1.2"; empty: all that are usual
    bool demands_login = false;           // ServerKind::right_login
};

struct OwnServer {
    std::uint16_t port;
    ServerProcess* process;
    std::function<void()> start_again;  // after process->kill(), at the same port; it listens when this returns
    std::shared_ptr<void> server;       // what the others belong to
};

struct Place {
    std::uint16_t port = 0;
    bool tls = false;
    std::string login{};    // "user:password@", or nothing
    std::string options{};  // "ca=FILE&insecure=1", or nothing
    std::string host = "127.0.0.1";
};

struct ServerKind {
    std::string name;
    remotes::OpenStore* open;
    std::function<bool()> installed;
    std::function<std::string(const Place&)> url;
    std::function<OwnServer(const ServerSetup&)> start;
    std::string right_login;
    std::vector<std::string> wrong_logins;  // none may be shown: each password has "wr0ng" in it
    // For as long as what it returns lives, whoever opens a store has a wrong secret. Null: logins say it all.
    std::function<std::shared_ptr<void>()> spoil_secret = nullptr;
    std::string calls_itself;      // how description() begins once a server has answered
    std::string sends_a_gigabyte;  // the beginning of an answer that announces an object of a gigabyte
    std::string takes_all;         // an answer to whoever stores something
    bool lists = true;
    bool leases = true;
    bool keeps = true;  // what was stored is still there after it was killed and started again
    bool tls = false;   // FaultConformance starts it with a certificate
};

inline void PrintTo(const ServerKind& kind, std::ostream* out)
{
    *out << kind.name;
}

inline ServerKind over_tls(ServerKind kind)
{
    kind.name += "_tls";
    kind.tls = true;
    return kind;
}

class ServerConformance : public testing::TestWithParam<ServerKind> {
protected:
    void SetUp() override;

    static OwnServer start(const ServerSetup& setup) { return GetParam().start(setup); }
    static Result<std::unique_ptr<remotes::RemoteStore>> try_to_open(const std::string& url)
    {
        return GetParam().open(options_for(url));
    }
    static std::unique_ptr<remotes::RemoteStore> open(const std::string& url) { return try_to_open(url).value(); }
    static std::string url_of(const Place& place) { return GetParam().url(place); }
};

class TlsConformance : public ServerConformance {
protected:
    static std::string ca() { return "ca=" + shared_ca()->file(); }
    static std::string showing(const TestCa::Certificate& certificate)
    {
        return ca() + "&cert=" + certificate.file + "&key=" + certificate.key;
    }
    static std::unique_ptr<remotes::RemoteStore> open_at(const OwnServer& server, const std::string& options)
    {
        return open(url_of({.port = server.port, .tls = true, .options = options}));
    }
    // Whoever asks for a name there, with these options.
    static Result<std::optional<Bytes>> get(const OwnServer& server, const std::string& options,
                                            const std::string& host = "127.0.0.1")
    {
        return open(url_of({.port = server.port, .tls = true, .options = options, .host = host}))->get("name", soon());
    }
    // A server that demands certificates of its clients.
    static OwnServer demanding(const std::string& tls_versions = "")
    {
        return start({.certificate = shared_ca()->good(),
                      .clients_authority = shared_ca()->file(),
                      .tls_versions = tls_versions});
    }
    // Everything that a store is asked for is refused with a sentence with these words.
    static void expect_denied(remotes::RemoteStore& store, const std::vector<std::string>& words);
};

class FaultConformance : public ServerConformance {
protected:
    static OwnServer start_plain(ServerSetup setup = {})
    {
        if (GetParam().tls)
            setup.certificate = shared_ca()->good();
        return start(setup);
    }
    static std::string url_at(const OwnServer& server, const std::string& login = "")
    {
        const bool tls = GetParam().tls;
        return url_of(
            {.port = server.port, .tls = tls, .login = login, .options = tls ? "ca=" + shared_ca()->file() : ""});
    }
    static std::unique_ptr<remotes::RemoteStore> open_at(const OwnServer& server) { return open(url_at(server)); }
};

}  // namespace hearth::test
