#pragma once

#include "support/scratch_directory.hpp"

#include <string>

namespace hearth::test {

// A certificate authority for one test program, and certificates that it signs for servers of this machine.
// Made with the openssl command: available() says whether there is one.
class TestCa {
public:
    struct Certificate {
        std::string file;
        std::string key;
    };

    static bool available();
    TestCa();

    // What a client trusts it by.
    std::string file() const { return m_folder / "ca.pem"; }
    Certificate good() { return make("good", "IP:127.0.0.1,DNS:localhost", 2); }
    // Its last day was yesterday.
    Certificate expired() { return make("expired", "IP:127.0.0.1,DNS:localhost", -1); }
    Certificate of_another_host() { return make("other", "DNS:elsewhere.invalid", 2); }

private:
    Certificate make(const std::string& name, const std::string& hosts, int days);

    ScratchDirectory m_folder;
};

}  // namespace hearth::test
