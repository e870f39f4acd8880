#pragma once

#include "tiers/http/transfer.hpp"

#include <memory>
#include <span>
#include <vector>

namespace hearth::tiers::http {

// Many requests at once from one thread. Its connections stay open between batches; where the server speaks HTTP/2 they
// are one.
// Thread safety: one thread at a time. Ownership: as Transfer.
class Batch {
public:
    static std::unique_ptr<Batch> make(const ClientOptions& options, SocketBook& sockets);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    // One answer a request, in their order; at most `parallel` of them under way.
    std::vector<Result<Answer>> perform(std::span<const Request> requests, std::size_t parallel, SteadyTime deadline);

private:
    Batch(const ClientOptions& options, SocketBook& sockets, CURLM* multi)
        : m_options(options), m_sockets(sockets), m_multi(multi)
    {
    }

    const ClientOptions& m_options;
    SocketBook& m_sockets;
    CURLM* m_multi;
    std::vector<std::unique_ptr<Transfer>> m_idle;
};

}  // namespace hearth::tiers::http
