#pragma once

#include "base/fork.hpp"
#include "tiers/redis/redis_connection.hpp"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace hearth::tiers::redis {

// Connections to one server, at most RedisSettings::max_connections at once. Who finds all of them in use waits for
// one: a thousand threads of a program do not become a thousand clients of a server.
// Thread safety: all of it. No lock is held over input or output. Cost of borrow(): one short lock.
class ConnectionPool {
public:
    enum class Want : std::uint8_t { any, fresh };

    struct Borrowed {
        std::unique_ptr<Connection> connection;
        bool used_before = false;  // it may have ended since, without our knowing
    };

    ConnectionPool(std::shared_ptr<const RedisSettings> settings, Endpoint endpoint);

    // `fresh` closes those that are idle: the server they led to is gone.
    Result<Borrowed> borrow(Want want, SteadyTime deadline);
    void give_back(std::unique_ptr<Connection> connection, bool reusable);
    bool has_idle() const;
    void after_fork() noexcept;

private:
    void forget(int descriptor);  // with m_mutex held

    const std::shared_ptr<const RedisSettings> m_settings;
    const Endpoint m_endpoint;
    mutable base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};
    std::unique_ptr<std::condition_variable_any> m_returned = std::make_unique<std::condition_variable_any>();
    std::vector<std::unique_ptr<Connection>> m_idle;  // last used last
    std::vector<int> m_descriptors;                   // of those in use: what a forked child has to close
    std::size_t m_in_use = 0;
    std::size_t m_waiting = 0;
};

}  // namespace hearth::tiers::redis
