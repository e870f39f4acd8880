// Compiles that a server answers first: CacheOptions::race_under.

#include "engine/hooked_tier.hpp"
#include "hearth/admin.hpp"
#include "nvrtc_fixture.hpp"
#include "remote/scripted_store.hpp"
#include "remote/store_tier.hpp"
#include "support/eventually.hpp"
#include "support/sample_entries.hpp"

#include <latch>
#include <thread>

namespace hearth::test {

namespace {

using namespace std::chrono_literals;

class NvrtcRacing : public NvrtcTest {
protected:
    // Memory over the server; two makes at a time.
    Cache racing(std::chrono::milliseconds race_under, const TierHooks& hooks = {})
    {
        CacheOptions options;
        options.directory = m_scratch / "racing";
        options.race_under = race_under;
        options.max_parallel_compiles = 2;
        options.maintenance = Maintenance::by_hand;
        options.tiers = {
            hooked(memory(1_MiB), hooks),
            {"redis", [this](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                 RemoteOptions remote{.url = "redis://cache:6379", .name = "redis"};
                 return {std::make_unique<remotes::StoreTier>(
                     remote, remotes::parse_url(remote.url).value(), context,
                     [this](const remotes::StoreOptions&) -> Result<std::unique_ptr<remotes::RemoteStore>> {
                         return {std::make_unique<ScriptedStore>(m_server)};
                     })};
             }}};
        return Cache::open(std::move(options)).value();
    }

    const std::shared_ptr<ScriptedServer> m_server = std::make_shared<ScriptedServer>();
};

TEST_F(NvrtcRacing, a_compile_whose_caller_has_left_with_the_servers_answer_still_has_its_program)
{
    nvrtc::Program program{.source = "__global__ void k(int* x) { *x = 7; }", .name = "k.cu", .target = "sm_90"};
    Key key;
    {
        Cache first = racing(0ms);
        key = nvrtc::compile(first, program).value().request().key();
    }
    // The server answers when the maker has looked for the last time whether it is there by now.
    std::latch looked(1);
    std::atomic<bool> seen{false};
    TierHooks hooks;
    hooks.peeked = [&](const Key& peeked) {
        if (peeked == key && !seen.exchange(true))
            looked.count_down();
    };
    Cache cache = racing(1h, hooks);
    // From now on it is known how long a compile takes, and what the compiler is.
    ASSERT_TRUE(nvrtc::compile(cache, {.source = "__global__ void first() {}", .target = "sm_90"}).ok());

    // The compile waits for its turn to make, and the server is first.
    std::latch making(2);
    std::latch finish(1);
    const auto hold_place = [&](std::uint64_t number) {
        const auto make = [&] {
            making.count_down();
            finish.wait();
            return "slow";
        };
        EXPECT_TRUE(cache.get_or_compile(numbered_key(number), make, {.kind = EntryKind::derived}).ok());
    };
    std::thread one(hold_place, 1);
    std::thread other(hold_place, 2);
    making.wait();
    m_server->on_get = [&](std::uint64_t) { looked.wait(); };
    const Result<nvrtc::Compiled> compiled = nvrtc::compile(cache, program);
    ASSERT_TRUE(compiled.ok());
    EXPECT_EQ(compiled->tier(), "redis");
    program = {.source = "no program at all", .name = "none.cu", .target = "sm_90"};
    finish.count_down();
    one.join();
    other.join();
    ASSERT_TRUE(eventually("both are compiled", [&] { return cache.stats().compiles >= 2; }));
    // Who asks for the same joins the compile, or comes after it.
    admin::clear_memory(cache);
    EXPECT_TRUE(cache.get_or_compile(key, [] { return "again"; }, {.kind = EntryKind::derived}).ok());
    EXPECT_EQ(cache.stats().compile_failures, 0U);
}

}  // namespace

}  // namespace hearth::test
