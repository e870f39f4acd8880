#include "tiers/redis/redis_router.hpp"

#include <fmt/format.h>
#include <utility>

namespace hearth::tiers::redis {

namespace {

class SingleRouter final : public Router {
public:
    explicit SingleRouter(std::shared_ptr<const RedisSettings> settings)
        : m_node(std::make_shared<RedisNode>(settings, settings->endpoints.front()))
    {
    }

    void run(std::span<Task* const> tasks, SteadyTime deadline) override { m_node->run(tasks, deadline); }

    Result<std::vector<std::shared_ptr<RedisNode>>> holders(SteadyTime) override { return std::vector{m_node}; }

    void after_fork() noexcept override { m_node->after_fork(); }

    std::string description() override
    {
        const std::string version = m_node->version();
        return fmt::format("redis {}{}at {}", version, version.empty() ? "" : " ", address());
    }

    std::string address() const override { return m_node->endpoint().shown(); }

private:
    std::shared_ptr<RedisNode> m_node;
};

}  // namespace

std::unique_ptr<Router> make_single_router(std::shared_ptr<const RedisSettings> settings)
{
    return std::make_unique<SingleRouter>(std::move(settings));
}

}  // namespace hearth::tiers::redis
