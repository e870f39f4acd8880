#pragma once

#include "support/redis_server.hpp"

namespace hearth::test {

// One cluster for the whole program, since making one takes seconds. Whole, and empty. Null: redis is not installed.
RedisCluster* shared_cluster();

}  // namespace hearth::test
