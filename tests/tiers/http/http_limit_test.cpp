#include "http_fixture.hpp"
#include "remote/store_tier.hpp"
#include "rogue_http_server.hpp"
#include "support/manual_clock.hpp"
#include "support/peak_memory.hpp"
#include "support/storing.hpp"

#include <filesystem>

// What is larger than a remote's limit, which is 256 MiB unless somebody says otherwise, takes no memory.

namespace hearth::test {

namespace {

constexpr std::uint64_t k_huge = 1_GiB;

std::unique_ptr<remotes::StoreTier> tier_at(const std::string& url, const ManualClock& clock)
{
    // A slow machine is no reason to fail; the limit is the usual one.
    const RemoteOptions options{.url = url, .name = "http", .timeout = std::chrono::seconds(20)};
    return std::make_unique<remotes::StoreTier>(options, remotes::parse_url(url).value(),
                                                TierContext{&clock, {}, lru()}, tiers::open_http_store);
}

void expect_little(const PeakMemory& memory)
{
    EXPECT_LT(memory.resident(), 32_MiB);
    EXPECT_LT(memory.addresses(), 512_MiB) << "threads reserve some for what they may allocate";
}

}  // namespace

TEST(HttpLimit, an_entry_of_a_gigabyte_is_a_miss_before_memory_is_taken_for_it)
{
    NginxServer* const server = shared_nginx();
    if (!server)
        GTEST_SKIP() << "nginx is not installed: scripts/install-deps test";
    const std::string path = fresh_path();
    const std::vector<Key> keys{numbered_key(1), numbered_key(2)};
    std::filesystem::create_directory(server->files() + "/" + path);
    for (const Key& key : keys) {
        // All hole: it takes no room on the disk either.
        const std::string file = server->files() + "/" + path + "/" + key.hex();
        write_file(file, "");
        std::filesystem::resize_file(file, k_huge);
    }
    const ManualClock clock;
    const auto tier = tier_at("http://" + server->address() + "/" + path, clock);
    ASSERT_EQ(tier->find(numbered_key(3)).why, Miss::absent) << "so that libcurl is set up";
    const PeakMemory memory;
    EXPECT_EQ(tier->find(keys[0]).why, Miss::other_version);
    for (const Found& found : tier->fetch_many(keys))
        EXPECT_EQ(found.why, Miss::other_version);
    expect_little(memory);
    EXPECT_EQ(tier->report().state, remotes::State::working) << "the server is well, and is asked again";
    EXPECT_EQ(tier->report().fetched_bytes, 0U);

    remotes::StoreOptions usual = options_for("http://" + server->address() + "/" + path);
    usual.max_object_bytes = RemoteOptions{}.max_entry_bytes;
    const auto got = tiers::open_http_store(usual).value()->get(keys[0].hex(), soon());
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::too_large) << got.error().message;
    EXPECT_NE(got.error().message.find("268435456 bytes"), std::string::npos) << got.error().message;
}

TEST(HttpLimit, an_entry_of_a_gigabyte_is_not_sent)
{
    const RogueHttpServer server("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
    const ManualClock clock;
    const auto tier = tier_at(server.url(), clock);
    // Pages of it exist once they are written to, and nobody does.
    const Entry entry(sample_artifact(numbered_key(1), 100), Bytes::make(k_huge, [](std::span<std::byte>) {}));
    const auto store = open_store(server.url());
    const PeakMemory memory;
    const auto stored = store_in(*tier, numbered_key(1), entry);
    ASSERT_FALSE(stored.ok());
    EXPECT_EQ(stored.error().code, Code::too_large) << stored.error().message;
    EXPECT_NE(stored.error().message.find("max_entry_bytes"), std::string::npos) << stored.error().message;
    const Status put = store->put("name", entry.encoded(), soon());
    ASSERT_FALSE(put.ok());
    EXPECT_EQ(put.error().code, Code::too_large) << put.error().message;
    tier->flush();
    expect_little(memory);
    EXPECT_EQ(tier->report().queued_bytes, 0U);
    EXPECT_EQ(server.requests(), 0);
}

}  // namespace hearth::test
