#pragma once

#include "base/fork.hpp"
#include "tiers/redis/command.hpp"
#include "tiers/redis/redis_pool.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hearth::tiers::redis {

// "7.0.15", of what INFO says; empty where it does not say. At most 32 printable characters.
std::string version_in(std::string_view info);

// One server: runs commands on its connections, as many in one go as is good for both sides.
// Thread safety: all of it. Ownership: of its pool. Cost: a round trip for every k_most_commands or k_most_bytes.
class RedisNode {
public:
    RedisNode(std::shared_ptr<const RedisSettings> settings, Endpoint endpoint);

    const Endpoint& endpoint() const { return m_endpoint; }
    // Every task has its answer, or the error that kept it from one. After a failure the rest is not tried.
    void run(std::span<Task* const> tasks, SteadyTime deadline);
    // The same on one connection, in one go.
    bool run_together(std::span<Task* const> tasks, SteadyTime deadline);
    void after_fork() noexcept;

    // "7.0.15" once it was reached: asked for once, and briefly. Empty: not known.
    std::string version();

private:
    static constexpr std::size_t k_most_commands = 128;
    static constexpr std::size_t k_most_bytes = 4U << 20U;

    const std::shared_ptr<const RedisSettings> m_settings;
    const Endpoint m_endpoint;
    ConnectionPool m_pool;
    base::ForkSafeMutex m_version_mutex{base::LockLevel::tier_part};
    std::string m_version;
};

}  // namespace hearth::tiers::redis
