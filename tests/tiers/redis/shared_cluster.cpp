#include "shared_cluster.hpp"

#include <gtest/gtest.h>
#include <memory>

namespace hearth::test {

namespace {

std::unique_ptr<RedisCluster>& holder()
{
    static std::unique_ptr<RedisCluster> cluster;
    return cluster;
}

// Ends the servers while the program still runs as usual.
class EndCluster : public testing::Environment {
public:
    void TearDown() override { holder().reset(); }
};

const testing::Environment* const g_end_cluster = testing::AddGlobalTestEnvironment(new EndCluster);

}  // namespace

RedisCluster* shared_cluster()
{
    if (!has_redis())
        return nullptr;
    std::unique_ptr<RedisCluster>& cluster = holder();
    if (!cluster || !cluster->wait_until_whole())
        cluster = std::make_unique<RedisCluster>();
    EXPECT_TRUE(cluster->is_up());
    cluster->flush();
    return cluster.get();
}

}  // namespace hearth::test
