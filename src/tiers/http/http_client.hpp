#pragma once

#include "tiers/http/batch.hpp"
#include "tiers/http/permits.hpp"

#include <memory>
#include <mutex>
#include <span>
#include <sys/types.h>
#include <vector>

namespace hearth::tiers::http {

// Sends requests to one server and keeps connections for the next.
// Thread safety: every function, from any thread; no lock is held while anything is sent or received.
// Cost: at most max_connections in use at once. As many may lie idle for single requests, and as many for batches:
// libcurl cannot move a connection from the one to the other.
class HttpClient {
public:
    explicit HttpClient(ClientOptions options);
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    Result<Answer> perform(const Request& request, SteadyTime deadline);
    // One answer a request, in their order.
    std::vector<Result<Answer>> perform_many(std::span<const Request> requests, SteadyTime deadline);
    // In a forked child: nothing of the parent's is used again.
    void after_fork() noexcept;

    const ClientOptions& options() const noexcept { return m_options; }

private:
    std::unique_ptr<Batch> take_single();
    std::unique_ptr<Batch> take_batch();
    void give_back_single(std::unique_ptr<Batch> single);
    void give_back_batch(std::unique_ptr<Batch> batch);

    const ClientOptions m_options;
    SocketBook m_sockets;  // before all that open sockets
    Permits m_permits;
    base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};
    std::vector<std::unique_ptr<Batch>> m_idle_singles;  // with one connection each
    std::unique_ptr<Batch> m_idle_batch;
    pid_t m_process;  // whose connections these are
};

}  // namespace hearth::tiers::http
