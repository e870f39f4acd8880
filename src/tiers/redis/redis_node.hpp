#pragma once

#include "base/fork.hpp"
#include "remote/breaker.hpp"
#include "remote/permits.hpp"
#include "tiers/redis/redis_connection.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hearth::tiers::redis {

// One server. Runs commands on at most RedisSettings::max_connections connections, and sends as many at once as is good
// for both sides.
// Thread safety: all of it; no lock is held over input or output. Ownership: of its connections.
// Cost: a round trip for every k_most_commands or k_most_bytes.
class RedisNode {
public:
    enum class Keep : std::uint8_t { descriptors, none };  // none: a new connection each time, and no state file

    RedisNode(std::shared_ptr<const RedisSettings> settings, Endpoint endpoint, Keep keep = Keep::descriptors);

    const Endpoint& endpoint() const { return m_endpoint; }
    // Of one node among several. A tier has its own for a server that is the only one.
    remotes::Breaker& breaker() { return m_breaker; }
    // Afterwards every task has its answer or its error. After a failure the rest is not tried.
    void run(std::span<Task* const> tasks, SteadyTime deadline);
    // The same on one connection, in one go.
    bool run_together(std::span<Task* const> tasks, SteadyTime deadline);
    void after_fork() noexcept;

    // "7.0.15" once the server was reached. It is asked only once, with a short deadline. Empty: not known.
    std::string version();

private:
    enum class Want : std::uint8_t { any, fresh };

    struct Borrowed {
        std::unique_ptr<Connection> connection;
        bool used_before = false;  // the server may have closed it since, unnoticed
    };

    // `fresh` closes the idle connections: their server is gone.
    Result<Borrowed> borrow(Want want, SteadyTime deadline);
    void give_back(std::unique_ptr<Connection> connection, bool reusable);
    // An idle connection that is quiet; on another one a command would be lost. Null: there is none.
    std::unique_ptr<Connection> take_idle();

    static constexpr std::size_t k_most_commands = 128;
    static constexpr std::size_t k_most_bytes = 4U << 20U;

    const std::shared_ptr<const RedisSettings> m_settings;
    const Endpoint m_endpoint;
    const Keep m_keep;
    remotes::Breaker m_breaker;
    remotes::Permits m_permits;
    base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};  // guards the rest
    std::vector<std::unique_ptr<Connection>> m_idle;          // last used last
    std::vector<int> m_in_use;                                // descriptors that a forked child has to close
    std::string m_version;
};

}  // namespace hearth::tiers::redis
