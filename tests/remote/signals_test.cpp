// A host program's signals are its own: no thread of a cache takes one.

#include "hearth/cache.hpp"
#include "remote/scripted_store.hpp"
#include "remote/store_tier.hpp"
#include "support/isolated_environment.hpp"
#include "support/sample_entries.hpp"
#include "support/scratch_directory.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace hearth::remotes {

namespace {

using test::numbered_key;

// Of every thread of this process but the calling one, what it has blocked; bit 0 is signal 1.
std::vector<std::uint64_t> masks_of_other_threads()
{
    std::vector<std::uint64_t> masks;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        if (task.path().filename() == std::to_string(::gettid()))
            continue;
        std::ifstream status(task.path() / "status");
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("SigBlk:"))
                masks.push_back(std::stoull(line.substr(7), nullptr, 16));
    }
    return masks;
}

}  // namespace

TEST(Signals, no_thread_of_a_cache_takes_those_of_its_host)
{
    const test::IsolatedEnvironment environment;
    const test::ScratchDirectory scratch;
    const auto server = std::make_shared<test::ScriptedServer>();
    const std::size_t others = masks_of_other_threads().size();  // sanitizers have some
    CacheOptions options;
    options.directory = scratch / "cache";
    options.maintenance = Maintenance::background;
    options.tiers = {memory(1_MiB), {"redis", [&](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                                         RemoteOptions remote{.url = "redis://cache:6379", .name = "redis"};
                                         return {std::make_unique<StoreTier>(
                                             remote, parse_url(remote.url).value(), context,
                                             [&](const StoreOptions&) -> Result<std::unique_ptr<RemoteStore>> {
                                                 return {std::make_unique<test::ScriptedStore>(server)};
                                             })};
                                     }}};
    Cache cache = Cache::open(std::move(options)).value();
    // A worker, the thread that sends, and the one that keeps order.
    ASSERT_TRUE(cache.get_or_compile_async(numbered_key(1), [] { return "made"; }).get().ok());
    cache.flush();
    const std::vector<std::uint64_t> masks = masks_of_other_threads();
    EXPECT_EQ(masks.size(), others + 3);
    std::size_t blocked = 0;
    for (const std::uint64_t mask : masks)
        blocked += (mask >> (SIGTERM - 1) & 1U) != 0 && (mask >> (SIGUSR1 - 1) & 1U) != 0 ? 1 : 0;
    EXPECT_GE(blocked, 3U);
}

}  // namespace hearth::remotes
