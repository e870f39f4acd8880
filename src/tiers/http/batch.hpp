#pragma once

#include "tiers/http/transfer.hpp"

#include <memory>
#include <span>
#include <vector>

namespace hearth::tiers::http {

// Requests from one thread, one or many at once. Its connections stay open between batches; where the server speaks
// HTTP/2 they are one.
// Thread safety: one thread at a time. Ownership: as Transfer.
// Cost: a handle of libcurl's for every request, some 2 us. Before 8.1 libcurl goes on with a header of a handle's last
// request where an answer begins as if to continue one, and that header is freed (curl issue 11101).
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
};

}  // namespace hearth::tiers::http
