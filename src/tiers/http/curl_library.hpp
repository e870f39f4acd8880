#pragma once

#include "base/signal_guard.hpp"

namespace hearth::tiers::http {

// Sets libcurl up, once in a process, whoever comes first. False: it could not be.
bool curl_ready();

// While it lives this thread gets no SIGPIPE, which a server that goes away would otherwise send to a host program that
// does not ignore it. libcurl is told to leave signals alone (CURLOPT_NOSIGNAL), so this is ours to do. Plain sockets
// need it not: they are written to with MSG_NOSIGNAL. TLS libraries may write without.
class SigpipeGuard : base::SignalGuard {
public:
    explicit SigpipeGuard(bool needed) noexcept : SignalGuard(SIGPIPE, needed) {}
};

}  // namespace hearth::tiers::http
