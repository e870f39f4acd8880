#pragma once

#include "remote/permits.hpp"
#include "tiers/http/transfer.hpp"

#include <memory>
#include <span>
#include <sys/types.h>
#include <vector>

namespace hearth::tiers::http {

// Sends requests to one server and keeps connections for the next; where the server speaks HTTP/2 many share one.
// Thread safety: every function, from any thread; no lock is held while anything is sent or received.
// Cost: at most max_connections in use at once. As many may be idle for single requests, and as many for batches:
// libcurl cannot move a connection between the two.
class HttpClient {
public:
    explicit HttpClient(ClientOptions options);
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    Result<Answer> perform(const Request& request, SteadyTime deadline);
    // One answer per request, in the same order.
    std::vector<Result<Answer>> perform_many(std::span<const Request> requests, SteadyTime deadline);
    // For a forked child, which must not use the parent's connections.
    void after_fork() noexcept;

    const ClientOptions& options() const noexcept { return m_options; }

private:
    struct Close {
        void operator()(CURLM* connections) const { curl_multi_cleanup(connections); }
    };
    using Connections = std::unique_ptr<CURLM, Close>;  // for the requests of one thread at a time

    Connections take(std::vector<Connections>& idle);
    // At most `parallel` of them under way.
    std::vector<Result<Answer>> perform_on(CURLM* connections, std::span<const Request> requests, std::size_t parallel,
                                           SteadyTime deadline);

    const ClientOptions m_options;
    SocketBook m_sockets;  // declared before everything that opens sockets
    remotes::Permits m_permits;
    base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};
    std::vector<Connections> m_singles;  // one connection each; last used last
    std::vector<Connections> m_batches;  // one at most
    pid_t m_process;                     // the process that opened these connections
};

}  // namespace hearth::tiers::http
