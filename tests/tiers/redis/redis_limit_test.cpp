#include "redis_fixture.hpp"
#include "remote/store_tier.hpp"
#include "rogue_server.hpp"
#include "support/manual_clock.hpp"
#include "support/peak_memory.hpp"
#include "support/storing.hpp"

// What is larger than a remote's limit, which is 256 MiB unless somebody says otherwise, takes no memory.

namespace hearth::test {

namespace {

constexpr std::uint64_t k_huge = 1_GiB;

std::unique_ptr<remotes::StoreTier> tier_at(const std::string& url, const ManualClock& clock)
{
    // A slow machine is no reason to fail; the limit is the usual one.
    const RemoteOptions options{.url = url, .name = "redis", .timeout = std::chrono::seconds(20)};
    return std::make_unique<remotes::StoreTier>(options, remotes::parse_url(url).value(),
                                                TierContext{&clock, {}, lru()}, tiers::open_redis_store);
}

// Pages of it exist once they are written to, and nobody does.
Bytes huge_bytes()
{
    return Bytes::make(k_huge, [](std::span<std::byte>) {});
}

void expect_little(const PeakMemory& memory)
{
    EXPECT_LT(memory.resident(), 32_MiB);
    EXPECT_LT(memory.addresses(), 512_MiB) << "threads reserve some for what they may allocate";
}

}  // namespace

TEST(RedisLimit, an_entry_of_a_gigabyte_is_a_miss_before_memory_is_taken_for_it)
{
    // It announces one, and sends more of it than any buffer on the way can hold.
    const RogueServer server("$" + std::to_string(k_huge) + "\r\n" + std::string(16U << 20U, 'x'),
                             RogueServer::Then::stay);
    const ManualClock clock;
    const auto tier = tier_at(local_url(server.port()), clock);
    const std::vector<Key> keys{numbered_key(1), numbered_key(2)};
    const PeakMemory memory;
    EXPECT_EQ(tier->find(keys[0]).why, Miss::other_version);
    for (const Found& found : tier->fetch_many(keys))
        EXPECT_EQ(found.why, Miss::other_version);
    expect_little(memory);
    EXPECT_EQ(tier->report().state, remotes::State::working) << "the server is well, and is asked again";
    EXPECT_EQ(tier->report().corrupt, 0U);
    EXPECT_EQ(tier->report().fetched_bytes, 0U);

    remotes::StoreOptions usual = options_for(local_url(server.port()));
    usual.max_object_bytes = RemoteOptions{}.max_entry_bytes;
    const auto got = tiers::open_redis_store(usual).value()->get("k", soon());
    ASSERT_EQ(code_of(got), "too_large");
    EXPECT_NE(got.error().message.find("1073741824 bytes"), std::string::npos) << got.error().message;
}

TEST(RedisLimit, an_entry_of_a_gigabyte_is_not_sent)
{
    const RogueServer server("+OK\r\n", RogueServer::Then::stay);
    const ManualClock clock;
    const auto tier = tier_at(local_url(server.port()), clock);
    const Entry entry(sample_artifact(numbered_key(1), 100), huge_bytes());
    const auto store = store_at(local_url(server.port()));
    const PeakMemory memory;
    const auto stored = store_in(*tier, numbered_key(1), entry);
    ASSERT_EQ(code_of(stored), "too_large");
    EXPECT_NE(stored.error().message.find("max_entry_bytes"), std::string::npos) << stored.error().message;
    EXPECT_EQ(code_of(store->put("k", entry.encoded(), soon())), "too_large");
    tier->flush();
    expect_little(memory);
    EXPECT_EQ(tier->report().queued_bytes, 0U);
    EXPECT_EQ(server.connections(), 0);
}

}  // namespace hearth::test
