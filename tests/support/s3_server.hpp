#pragma once

#include "support/scratch_directory.hpp"
#include "support/server_process.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace hearth::test {

// OpenStack Swift, which speaks S3 and checks signatures, on a free port of this machine; everything it keeps is below
// a folder of its own. All of it is one process: an account, a container and an object server, and the proxy before
// them.
class S3Server {
public:
    // None where Swift is not installed. Throws where it does not start.
    static std::unique_ptr<S3Server> start();

    // The only ones it lets in.
    static constexpr const char* k_access_key = "test:tester";
    static constexpr const char* k_secret_key = "testing";
    // A bucket that there is from the start.
    static constexpr const char* k_bucket = "kernels";

    std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(m_port); }
    ServerProcess& process() { return m_process; }
    // After process().kill(): at the same port, with what it kept. Does not wait until it listens.
    void start_again();

private:
    S3Server() = default;
    std::vector<std::string> command(std::uint16_t port) const;

    ScratchDirectory m_folder;
    std::uint16_t m_port = 0;
    ServerProcess m_process;
};

}  // namespace hearth::test
