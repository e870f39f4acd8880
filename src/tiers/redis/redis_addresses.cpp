#include "tiers/redis/redis_addresses.hpp"

#include "base/error.hpp"
#include "base/own_thread.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <netdb.h>
#include <optional>
#include <string>
#include <sys/un.h>
#include <thread>
#include <utility>

namespace hearth::tiers::redis {

namespace {

constexpr std::size_t k_max_addresses = 16;

Address unix_address(const std::string& path)
{
    Address address;
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, path.data(), std::min(path.size(), sizeof name.sun_path - 1));
    std::memcpy(&address.storage, &name, sizeof name);
    address.size = sizeof name;
    return address;
}

struct Resolved {
    int error = 0;  // as getaddrinfo() returns it
    std::vector<Address> addresses;
};

Resolved resolve(const Endpoint& endpoint, int flags)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags | AI_NUMERICSERV;
    addrinfo* found = nullptr;
    Resolved resolved;
    resolved.error = ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
    if (resolved.error != 0)
        return resolved;
    for (const addrinfo* one = found; one && resolved.addresses.size() < k_max_addresses; one = one->ai_next) {
        Address& address = resolved.addresses.emplace_back();
        std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
        address.size = one->ai_addrlen;
    }
    ::freeaddrinfo(found);
    return resolved;
}

// getaddrinfo() takes no deadline: with a name server that is silent it takes as long as /etc/resolv.conf says. It runs
// on a thread of its own, which is left to itself when the time is over.
class Lookup {
public:
    // None: the deadline passed, or no thread could be had.
    static std::optional<Resolved> of(const Endpoint& endpoint, remotes::SteadyTime deadline)
    {
        const auto lookup = std::make_shared<Lookup>();
        std::thread thread;
        if (!base::try_start_thread(thread, [lookup, endpoint] { lookup->give(resolve(endpoint, AI_ADDRCONFIG)); }))
            return std::nullopt;
        thread.detach();
        std::unique_lock lock(lookup->m_mutex);
        lookup->m_given.wait_until(lock, deadline, [&] { return lookup->m_resolved.has_value(); });
        return lookup->m_resolved;
    }

private:
    void give(Resolved resolved)
    {
        {
            const std::lock_guard lock(m_mutex);
            m_resolved = std::move(resolved);
        }
        m_given.notify_one();
    }

    std::mutex m_mutex;
    std::condition_variable m_given;
    std::optional<Resolved> m_resolved;
};

}  // namespace

Result<std::vector<Address>> addresses_of(const Endpoint& endpoint, remotes::SteadyTime deadline)
{
    if (!endpoint.path.empty())
        return std::vector{unix_address(endpoint.path)};
    if (Resolved numeric = resolve(endpoint, AI_NUMERICHOST); numeric.error == 0)
        return std::move(numeric.addresses);
    std::optional<Resolved> named = Lookup::of(endpoint, deadline);
    if (!named)
        return error(Code::timeout, "The name of redis at {} was not resolved in time. Check the name server.",
                     endpoint.shown());
    if (named->error != 0)
        return error(Code::unavailable, "The host of redis at {} is not known: {}. Check the name.", endpoint.shown(),
                     ::gai_strerror(named->error));
    return std::move(named->addresses);
}

}  // namespace hearth::tiers::redis
