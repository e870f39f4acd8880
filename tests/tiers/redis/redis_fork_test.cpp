#include "redis_fixture.hpp"

#include "support/forks.hpp"

#include <atomic>
#include <thread>
#include <unistd.h>

namespace hearth::test {

// Other threads are in the middle of their calls, some waiting for a connection, when the process forks.
TEST(RedisFork, a_child_works_on_whatever_other_threads_were_doing)
{
    HEARTH_NEEDS_REDIS();
    SKIP_FORKS_BESIDE_THREADS();
    const RedisServer server;
    remotes::StoreOptions options = options_for(local_url(server.port()));
    options.max_connections = 2;
    const auto store = tiers::open_redis_store(options).value();
    for (std::uint64_t i = 0; i < 4; ++i)
        ASSERT_TRUE(store->put(name_for(i), bytes_for(i, 30'000), soon()).ok());
    std::atomic<bool> stop = false;
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            while (!stop.load())
                EXPECT_EQ(store->get(name_for(t), soon()).value().value(), bytes_for(t, 30'000));
        });
    for (int round = 0; round < 20; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            store->after_fork();
            bool right = true;
            for (std::uint64_t i = 0; i < 12; ++i) {
                const auto got = store->get(name_for(i % 4), soon());
                right = right && got.ok() && got->has_value() && **got == bytes_for(i % 4, 30'000);
            }
            ::_exit(right ? 0 : 1);
        }
        EXPECT_TRUE(child_was_right(child));
    }
    stop.store(true);
    for (std::thread& thread : threads)
        thread.join();
}

}  // namespace hearth::test
