#pragma once

#include "support/scratch_directory.hpp"
#include "support/server_process.hpp"
#include "support/test_ca.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hearth::test {

struct NginxOptions {
    std::optional<TestCa::Certificate> certificate = std::nullopt;  // none: in the clear
    std::string clients_authority{};      // with a certificate: who has to vouch for clients; empty: they show none
    bool insists_on_certificates = true;  // else a client that shows none is served too
    std::string tls_versions{};           // "TLSv1.2"; empty: all that are usual
    std::string user{};                   // empty: anybody may
    std::string password{};
    std::string token{};  // a bearer token, without which nothing is answered; empty: none
    // By itself it ignores If-None-Match on PUT. A few lines of its configuration language make it look first.
    bool honours_if_none_match = false;
    bool takes_put = true;
    std::string files{};   // a folder that others keep things in too; empty: one of its own
    std::string before{};  // "http://127.0.0.1:80": passes every request on to that server; empty: answers itself
};

// nginx as a WebDAV server on a free port of this machine, with a folder of its own.
class NginxServer {
public:
    // None where nginx is not installed. Throws where it does not start.
    static std::unique_ptr<NginxServer> start(const NginxOptions& options = {});

    std::uint16_t port() const { return m_port; }
    std::string address() const { return "127.0.0.1:" + std::to_string(m_port); }
    // Where it keeps what was put.
    const std::string& files() const { return m_files; }
    ServerProcess& process() { return m_process; }
    // After process().kill(): at the same port, with what it kept. Does not wait until it listens.
    void start_again();

private:
    NginxServer() = default;
    std::vector<std::string> command() const;

    ScratchDirectory m_folder;
    std::string m_files = m_folder / "files";
    std::uint16_t m_port = 0;
    ServerProcess m_process;
};

}  // namespace hearth::test
