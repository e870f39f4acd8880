#pragma once

#include "support/scratch_directory.hpp"

#include <string>

namespace hearth::test {

// A certificate authority for one test program, and certificates that it signs, for servers of this machine and for
// their clients. Files in PEM format. Made with the openssl command.
class TestCa {
public:
    struct Certificate {
        std::string file{};
        std::string key{};
    };

    TestCa();

    // What others trust it by.
    std::string file() const { return m_folder / "ca.pem"; }
    // For a subjectAltName such as "IP:127.0.0.1,DNS:localhost", valid from now for that many days; with a negative
    // number it expired that many days ago. Another of the same name replaces it.
    Certificate issue(const std::string& name, const std::string& hosts, int days = 2) const;
    Certificate good() const { return issue("good", "IP:127.0.0.1,DNS:localhost"); }
    // Its last day was yesterday.
    Certificate expired() const { return issue("expired", "IP:127.0.0.1,DNS:localhost", -1); }
    // For one who connects.
    Certificate client() const { return issue("client", "DNS:client.invalid"); }

private:
    ScratchDirectory m_folder;
};

// One for the whole program. Null: there is no openssl command.
TestCa* shared_ca();

}  // namespace hearth::test
