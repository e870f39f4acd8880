// A host program's signals are its own: no thread of a cache takes one.

#include "hearth/cache.hpp"
#include "remote/scripted_store.hpp"
#include "support/isolated_environment.hpp"
#include "support/sample_entries.hpp"
#include "support/scratch_directory.hpp"
#include "support/threads.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace hearth::remotes {

namespace {

using test::numbered_key;

// What a thread of this process has blocked; bit 0 is signal 1.
std::uint64_t mask_of(const std::string& thread)
{
    std::ifstream status("/proc/self/task/" + thread + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("SigBlk:"))
            return std::stoull(line.substr(7), nullptr, 16);
    return 0;
}

}  // namespace

TEST(Signals, no_thread_of_a_cache_takes_those_of_its_host)
{
    const test::IsolatedEnvironment environment;
    const test::ScratchDirectory scratch;
    const auto server = std::make_shared<test::ScriptedServer>();
    const std::set<std::string> others = test::threads();  // sanitizers have some
    CacheOptions options;
    options.directory = scratch / "cache";
    options.maintenance = Maintenance::background;
    options.tiers = {memory(1_MiB), test::scripted_tier(server)};
    Cache cache = Cache::open(std::move(options)).value();
    // A worker, the thread that sends, and the one that keeps order.
    ASSERT_TRUE(cache.get_or_compile_async(numbered_key(1), [] { return "made"; }).get().ok());
    cache.flush();
    const std::set<std::string> own = test::threads_since(others);
    EXPECT_EQ(own.size(), 3U);
    for (const std::string& thread : own) {
        EXPECT_NE(mask_of(thread) >> (SIGTERM - 1) & 1U, 0U);
        EXPECT_NE(mask_of(thread) >> (SIGUSR1 - 1) & 1U, 0U);
    }
}

}  // namespace hearth::remotes
