// Several nodes, one server: what a fleet is for. Each node is a process with a directory of its own.

#include "hearth/hearth.hpp"
#include "support/eventually.hpp"
#include "support/forks.hpp"
#include "support/isolated_environment.hpp"
#include "support/redis_server.hpp"
#include "support/sample_entries.hpp"
#include "support/scratch_directory.hpp"
#include "support/tools.hpp"

#include <atomic>
#include <csignal>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>
#include <sys/mman.h>
#include <unistd.h>

namespace hearth::test {

namespace {

// A count of all processes, until they end.
std::atomic<int>& new_shared_count()
{
    using Count = std::atomic<int>;
    void* const shared = ::mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return *new (shared) Count(0);
}

class Fleet : public testing::Test {
protected:
    void SetUp() override
    {
        if (!has_redis())
            GTEST_SKIP() << not_installed("redis-server");
        m_server.emplace();
    }
    RemoteOptions redis() const { return {.url = fmt::format("redis://127.0.0.1:{}", m_server->port())}; }
    Cache node(int number, RemoteOptions options) const
    {
        options.state_directory = m_scratch / fmt::format("node{}/remotes", number);
        options.timeout = std::chrono::seconds(10);
        options.connect_timeout = std::chrono::seconds(5);
        CacheOptions all;
        all.tiers = {memory(16_MiB), disk(m_scratch / fmt::format("node{}", number)), remote(options)};
        all.maintenance = Maintenance::by_hand;
        return Cache::open(all).value();
    }
    Cache node(int number) const { return node(number, redis()); }

    static Artifact made(const Key& key) { return Artifact(sample_bytes(key, 2000)); }
    static bool is_right(const Result<Lookup>& found, const Key& key)
    {
        return found.ok() && (*found)->text() == sample_bytes(key, 2000).text();
    }

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
    std::optional<RedisServer> m_server;
};

TEST_F(Fleet, what_one_node_made_another_finds_and_then_has_on_its_own_disk)
{
    const Key key = numbered_key(1);
    {
        Cache one = node(1);
        ASSERT_TRUE(is_right(one.get_or_compile(key, [&] { return made(key); }), key));
    }
    {
        Cache other = node(2);
        const Lookup found = other.find(key);
        ASSERT_TRUE(found.hit());
        EXPECT_EQ(found.tier(), "redis");
        EXPECT_EQ(other.find(key).tier(), "memory");
        EXPECT_EQ(other.stats().tiers[2].hits, 1U);
        EXPECT_GT(other.stats().tiers[2].remote->fetched_bytes, 2000U);
    }
    Cache again = node(2);
    EXPECT_EQ(again.find(key).tier(), "disk");
}

// Capability 42 across nodes.
TEST_F(Fleet, eight_nodes_that_start_at_once_compile_each_kernel_once)
{
    constexpr int k_nodes = 8;
    constexpr std::uint64_t k_kernels = 25;
    std::atomic<int>& makes = new_shared_count();
    std::vector<pid_t> children;
    for (int n = 0; n < k_nodes; ++n) {
        const pid_t child = ::fork();
        if (child != 0) {
            children.push_back(child);
            continue;
        }
        ::alarm(100);
        bool right = true;
        {
            Cache cache = node(n);
            for (std::uint64_t i = 0; i < k_kernels; ++i) {
                const Key key = numbered_key((i + static_cast<std::uint64_t>(n) * 3) % k_kernels);
                const auto make = [&] {
                    ++makes;
                    return made(key);
                };
                right = right && is_right(cache.get_or_compile(key, make), key);
            }
        }
        ::_exit(right ? 0 : 1);
    }
    for (const pid_t child : children)
        EXPECT_TRUE(child_was_right(child));
    EXPECT_EQ(makes, static_cast<int>(k_kernels));
}

TEST_F(Fleet, a_node_that_was_killed_while_it_compiled_keeps_others_waiting_only_until_its_lease_ends)
{
    const Key key = numbered_key(1);
    RemoteOptions options = redis();
    options.lease_time = std::chrono::milliseconds(300);
    std::atomic<int>& began = new_shared_count();
    const pid_t child = ::fork();
    if (child == 0) {
        Cache cache = node(1, options);
        static_cast<void>(cache.get_or_compile(key, [&]() -> Artifact {
            ++began;
            for (;;)
                ::pause();
        }));
        ::_exit(1);
    }
    ASSERT_TRUE(eventually("the child compiles", [&] { return began != 0; }));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    Cache other = node(2, options);
    EXPECT_TRUE(is_right(other.get_or_compile(key, [&] { return made(key); }), key));
    EXPECT_EQ(other.stats().compiles, 1U);
}

TEST_F(Fleet, a_server_that_is_gone_costs_hits_and_nothing_else)
{
    Cache one = node(1);
    const Key key = numbered_key(1);
    ASSERT_TRUE(is_right(one.get_or_compile(key, [&] { return made(key); }), key));
    one.flush();
    m_server->kill();
    Cache other = node(2);
    const Key fresh = numbered_key(2);
    EXPECT_TRUE(is_right(one.get_or_compile(fresh, [&] { return made(fresh); }), fresh));
    EXPECT_TRUE(is_right(other.get_or_compile(key, [&] { return made(key); }), key));
    EXPECT_EQ(other.stats().outages, 1U) << "an outage is no miss";
    EXPECT_EQ(other.stats().misses_in_all(), 0U);
    EXPECT_EQ(other.stats().tiers[2].remote->state, remotes::State::down);
    EXPECT_EQ(other.stats().tiers[2].stores, 0U) << "nothing has arrived";
    EXPECT_EQ(other.find(key).tier(), "memory");
}

// Capability 67.
TEST_F(Fleet, one_dead_master_of_a_cluster_takes_only_its_own_entries_away)
{
    RedisCluster cluster;
    ASSERT_TRUE(cluster.is_up());
    constexpr std::uint64_t k_entries = 30;
    const auto master_of = [&](std::uint64_t i) { return cluster.master_of("hearth:" + numbered_key(i).hex()); };
    CacheOptions options;
    options.tiers = {remote({.url = "redis+cluster://" + cluster.hosts() + "?timeout=2s",
                             .name = "cluster",
                             .state_directory = m_scratch / "remotes"})};
    Cache cache = Cache::open(options).value();
    std::set<std::size_t> masters;
    for (std::uint64_t i = 0; i < k_entries; ++i) {
        ASSERT_TRUE(cache.insert(numbered_key(i), made(numbered_key(i))).ok());
        masters.insert(master_of(i));
    }
    cache.flush();
    ASSERT_EQ(masters.size(), RedisCluster::k_masters);
    const std::size_t dead = master_of(0);
    std::vector<bool> is_lost;
    for (std::uint64_t i = 0; i < k_entries; ++i)
        is_lost.push_back(master_of(i) == dead);
    for (std::size_t node = 0; node < RedisCluster::k_nodes; ++node) {
        if (!masters.contains(node))
            cluster.server(node).kill();  // or a replica would take over
        else
            // Neither of the two that live may take the other for dead because it is slow: one is no majority.
            EXPECT_EQ(redis_cli(cluster.port(node), {"CONFIG", "SET", "cluster-require-full-coverage", "no",
                                                     "cluster-node-timeout", "60000"}),
                      "OK");
    }
    cluster.server(dead).process().signal(SIGSTOP);  // it does not even refuse

    Cache fresh = Cache::open(options).value();
    for (Cache* one : {&cache, &fresh})
        for (int round = 0; round < 3; ++round)
            for (std::uint64_t i = 0; i < k_entries; ++i)
                EXPECT_EQ(one->find(numbered_key(i)).hit(), !is_lost[i]) << "round " << round << ", entry " << i;
    EXPECT_EQ(cache.stats().tiers[0].remote->state, remotes::State::working);
    EXPECT_FALSE(cache.stats().tiers[0].remote->problem.empty());

    cluster.server(dead).process().signal(SIGCONT);
    const auto is_found = [&] { return cache.find(numbered_key(0)).hit(); };
    EXPECT_TRUE(eventually("it is asked again when it is back", is_found, std::chrono::minutes(2)));
}

// Capability 72.
TEST_F(Fleet, a_poisoned_entry_is_never_loaded_where_signatures_are_demanded)
{
    const SigningKey signer = SigningKey::generate().value();
    const Key key = numbered_key(1);
    {
        Cache attacker = node(1);
        ASSERT_TRUE(attacker.insert(key, Artifact("evil")).ok());
    }
    RemoteOptions options = redis();
    options.trust = {Signatures::demanded, {signer.public_key()}, {signer}};
    {
        Cache reader = node(2, options);
        const Lookup found = reader.find(key);
        ASSERT_FALSE(found.hit());
        EXPECT_EQ(found.why(), Miss::untrusted);
        EXPECT_EQ(reader.stats().tiers[2].remote->untrusted, 1U);
        ASSERT_TRUE(is_right(reader.get_or_compile(key, [&] { return made(key); }), key));
    }
    Cache third = node(3, options);
    EXPECT_TRUE(is_right(third.get_or_compile(key, [&] { return Artifact("not needed"); }), key));
    EXPECT_EQ(third.stats().tiers[2].hits, 1U) << "what the reader made, it signed";
}

TEST_F(Fleet, what_failed_on_one_node_is_no_business_of_the_others)
{
    Cache one = node(1);
    Cache other = node(2);
    const Key key = numbered_key(1);
    const auto fail = []() -> Result<Artifact> {
        Artifact failed(std::string_view("an error of this machine's"));
        failed.status = 6;
        return failed;
    };
    ASSERT_TRUE(one.get_or_compile(key, fail).ok());
    one.flush();
    EXPECT_TRUE(one.find(key)->failed()) << "it is remembered here";
    EXPECT_EQ(admin::push(one, "redis").value().entries, 0U);
    EXPECT_FALSE(other.find(key));
    const Result<Lookup> compiled = other.get_or_compile(key, [&]() -> Result<Artifact> { return made(key); });
    EXPECT_TRUE(is_right(compiled, key));
}

TEST_F(Fleet, entries_are_pushed_and_pulled_in_batches)
{
    constexpr std::uint64_t k_entries = 300;
    {
        RemoteOptions unused = redis();
        unused.access = Access::read_only;
        Cache one = node(1, unused);
        for (std::uint64_t i = 0; i < k_entries; ++i)
            ASSERT_TRUE(one.insert(numbered_key(i), made(numbered_key(i))).ok());
    }
    {
        Cache one = node(1);
        const TransferReport report = admin::push(one, "redis").value();
        EXPECT_EQ(report.entries, k_entries);
        EXPECT_EQ(report.already_there, 0U);
        EXPECT_EQ(admin::push(one, "").value().already_there, k_entries) << "the first remote, when none is named";
        const Result<TransferReport> none = admin::push(one, "s3");
        ASSERT_FALSE(none.ok());
        EXPECT_NE(none.error().message.find("redis"), std::string::npos) << none.error().message;
    }
    {
        Cache other = node(2);
        EXPECT_EQ(admin::pull(other, "redis").value().entries, k_entries);
        EXPECT_EQ(admin::pull(other, "redis").value().already_there, k_entries);
    }
    m_server->kill();
    Cache again = node(2);
    for (std::uint64_t i = 0; i < k_entries; ++i)
        EXPECT_EQ(again.find(numbered_key(i)).tier(), "disk");
}

TEST_F(Fleet, clearing_a_nodes_cache_leaves_the_fleets_alone)
{
    Cache one = node(1);
    const Key key = numbered_key(1);
    ASSERT_TRUE(one.insert(key, made(key)).ok());
    one.flush();
    admin::clear(one);
    EXPECT_EQ(one.find(key).tier(), "redis");
    EXPECT_EQ(admin::verify(one, Repair::no).checked, 2U) << "in memory and on disk, brought home";
}

}  // namespace

}  // namespace hearth::test
