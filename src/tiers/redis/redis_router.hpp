#pragma once

#include "tiers/redis/command.hpp"
#include "tiers/redis/redis_node.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hearth::tiers::redis {

// Which server a command goes to: the only one, or the one of a cluster that has the key. Thread safety: all of it.
class Router {
public:
    virtual ~Router() = default;

    // Every task has its answer, or the error that kept it from one.
    virtual void run(std::span<Task* const> tasks, SteadyTime deadline) = 0;
    // Servers that between them hold every key once.
    virtual Result<std::vector<std::shared_ptr<RedisNode>>> holders(SteadyTime deadline) = 0;
    virtual void after_fork() noexcept = 0;
    virtual std::string description() = 0;
    virtual std::string address() const = 0;
};

std::unique_ptr<Router> make_single_router(std::shared_ptr<const RedisSettings> settings);
std::unique_ptr<Router> make_cluster_router(std::shared_ptr<const RedisSettings> settings);

}  // namespace hearth::tiers::redis
