#include "remote/balanced_store.hpp"

#include "remote/scripted_store.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using remotes::SteadyTime;
using std::chrono::steady_clock;

SteadyTime in_an_hour()
{
    return steady_clock::now() + std::chrono::hours(1);
}

// Three servers that share what they hold as far as the tests put it in all of them, and a clock that stands still.
class BalancedStore : public testing::Test {
protected:
    static constexpr std::size_t k_servers = 3;
    static constexpr std::uint64_t k_second = 1'000'000'000;

    BalancedStore()
    {
        for (std::size_t i = 0; i < k_servers; ++i)
            m_servers.push_back(std::make_shared<ScriptedServer>());
        m_store = open(k_servers);
    }

    std::unique_ptr<remotes::BalancedStore> open(std::size_t count)
    {
        std::vector<remotes::Endpoint> endpoints;
        for (std::size_t i = 0; i < count; ++i)
            endpoints.push_back({"cache" + std::to_string(i) + ":80", std::make_unique<ScriptedStore>(m_servers[i])});
        remotes::StoreOptions options;
        options.tell = [this](const std::string& problem) { m_told.push_back(problem); };
        return std::make_unique<remotes::BalancedStore>(std::move(endpoints), options, [this] { return m_now; });
    }
    void put_everywhere(const std::string& name)
    {
        for (const auto& server : m_servers)
            server->put(name, Bytes::copy_of(name));
    }
    std::vector<std::uint64_t> requests() const
    {
        std::vector<std::uint64_t> all;
        for (const auto& server : m_servers)
            all.push_back(server->requests);
        return all;
    }
    // The server that a request for this name goes to.
    std::size_t first_of(remotes::RemoteStore& store, const std::string& name)
    {
        const std::vector<std::uint64_t> before = requests();
        EXPECT_TRUE(store.get(name, in_an_hour()).ok());
        const std::vector<std::uint64_t> after = requests();
        const auto [_, asked] = std::mismatch(before.begin(), before.end(), after.begin());
        return static_cast<std::size_t>(asked - after.begin());
    }
    std::string name_at(std::size_t server)
    {
        for (int i = 0;; ++i)
            if (const std::string name = "name-" + std::to_string(i); first_of(*m_store, name) == server)
                return name;
    }

    std::vector<std::shared_ptr<ScriptedServer>> m_servers;
    std::vector<std::string> m_told;
    std::uint64_t m_now = 1'790'000'000 * k_second;
    std::unique_ptr<remotes::BalancedStore> m_store;
};

TEST_F(BalancedStore, every_name_has_a_steady_endpoint_and_one_that_goes_moves_only_its_own_names)
{
    std::vector<int> share(k_servers, 0);
    const auto another = open(k_servers);
    const auto fewer = open(k_servers - 1);
    for (int i = 0; i < 300; ++i) {
        const std::string name = "name-" + std::to_string(i);
        const std::size_t first = first_of(*m_store, name);
        ASSERT_LT(first, k_servers);
        ++share[first];
        EXPECT_EQ(first_of(*m_store, name), first);
        EXPECT_EQ(first_of(*another, name), first) << "in another process too";
        if (first != k_servers - 1) {
            EXPECT_EQ(first_of(*fewer, name), first) << name;
        }
    }
    for (const int names : share)
        EXPECT_GT(names, 60) << "every endpoint has its share";
}

TEST_F(BalancedStore, a_dead_endpoint_is_asked_once_and_no_hit_is_lost)
{
    std::vector<std::string> names;
    for (int i = 0; i < 60; ++i) {
        names.push_back("name-" + std::to_string(i));
        put_everywhere(names.back());
    }
    m_servers[1]->fail_with(Code::unavailable);
    for (const std::string& name : names)
        EXPECT_EQ(m_store->get(name, in_an_hour()).value()->text(), name);
    EXPECT_EQ(m_servers[1]->requests, 1U);
    EXPECT_TRUE(m_store->is_partly_down());
    EXPECT_EQ(m_told, std::vector<std::string>{"The server fails, as it was told to."});

    m_now += 2 * k_second;
    const auto many = m_store->get_many(names, in_an_hour());
    for (std::size_t i = 0; i < names.size(); ++i)
        EXPECT_EQ(many[i].value()->text(), names[i]);
    EXPECT_GT(m_servers[1]->requests, 1U) << "a batch tries it again when its time is over";

    m_servers[1]->fail_with(std::nullopt);
    m_now += 60 * k_second;
    EXPECT_EQ(m_store->get(names[0], in_an_hour()).value()->text(), names[0]);
    for (const Result<bool>& has : m_store->has_many(names, in_an_hour()))
        EXPECT_TRUE(has.value());
    EXPECT_FALSE(m_store->is_partly_down()) << "and it is used again";
}

TEST_F(BalancedStore, what_is_not_there_or_refused_is_an_answer)
{
    const std::string name = name_at(2);
    const std::vector<std::uint64_t> before = requests();
    EXPECT_FALSE(m_store->get(name, in_an_hour()).value().has_value());
    m_servers[2]->fail_with(Code::denied);
    EXPECT_EQ(m_store->get(name, in_an_hour()).error().code, Code::denied);
    EXPECT_EQ(m_servers[0]->requests, before[0]);
    EXPECT_EQ(m_servers[1]->requests, before[1]);
    EXPECT_TRUE(m_store->is_partly_down());
    EXPECT_TRUE(m_store->get(name, in_an_hour()).ok()) << "the others may still let us in";
}

TEST_F(BalancedStore, an_endpoint_that_hangs_leaves_time_to_the_next)
{
    const std::string name = name_at(0);
    put_everywhere(name);
    m_servers[0]->fail_with(Code::timeout);
    const SteadyTime deadline = in_an_hour();
    EXPECT_TRUE(open(2)->get(name, deadline).value().has_value());
    EXPECT_LT(m_servers[0]->deadline.load(), deadline - std::chrono::minutes(25));
    EXPECT_EQ(m_servers[1]->deadline.load(), deadline) << "the last one has all that is left";
}

TEST_F(BalancedStore, where_all_rest_they_are_asked_all_the_same)
{
    const std::string name = name_at(0);
    put_everywhere(name);
    for (const auto& server : m_servers)
        server->fail_with(Code::unavailable);
    EXPECT_EQ(m_store->get(name, in_an_hour()).error().code, Code::unavailable);
    EXPECT_FALSE(m_store->is_partly_down()) << "all of it is";
    m_servers[1]->fail_with(std::nullopt);
    EXPECT_TRUE(m_store->get(name, in_an_hour()).value().has_value()) << "whoever asks now is the one that tries";

    m_servers[1]->fail_with(Code::unavailable);
    m_servers[2]->fail_with(std::nullopt);
    EXPECT_TRUE(m_store->get(name, in_an_hour()).value().has_value()) << "also after one that was well has failed";
}

TEST_F(BalancedStore, what_comes_too_late_to_be_asked_says_nothing_about_an_endpoint)
{
    for (const auto& server : m_servers)
        server->fail_with(Code::timeout);
    EXPECT_EQ(m_store->get("name", steady_clock::now() - std::chrono::seconds(1)).error().code, Code::timeout);
    for (const auto& server : m_servers)
        server->fail_with(std::nullopt);
    EXPECT_FALSE(m_store->is_partly_down());
    EXPECT_TRUE(m_told.empty());
}

TEST_F(BalancedStore, writes_go_to_one_endpoint_and_to_the_next_if_it_fails)
{
    const std::string name = name_at(0);
    EXPECT_TRUE(m_store->put(name, as_bytes("x"), in_an_hour()).ok());
    EXPECT_TRUE(m_servers[0]->has(name));
    EXPECT_FALSE(m_servers[1]->has(name) || m_servers[2]->has(name)) << "they share what they hold by themselves";
    m_servers[0]->fail_with(Code::unavailable);
    EXPECT_TRUE(m_store->put(name, as_bytes("x"), in_an_hour()).ok());
    EXPECT_TRUE(m_servers[1]->has(name) != m_servers[2]->has(name));
    EXPECT_TRUE(m_store->remove(name, in_an_hour()).value());
}

TEST_F(BalancedStore, a_lease_whose_taking_was_lost_on_the_way_is_still_ours)
{
    const std::string name = name_at(0);
    const Bytes mine = Bytes::copy_of("mine");
    put_everywhere("other");
    m_servers[1]->put(name, mine);  // shared storage: the first endpoint wrote it, and died
    m_servers[2]->put(name, mine);
    m_servers[0]->fail_with(Code::unavailable);
    EXPECT_TRUE(m_store->put_if_absent(name, mine, std::chrono::seconds(9), in_an_hour()).value());
    EXPECT_FALSE(m_store->put_if_absent(name, as_bytes("theirs"), std::chrono::seconds(9), in_an_hour()).value());
}

TEST_F(BalancedStore, a_list_comes_from_one_endpoint_that_answers)
{
    put_everywhere("a");
    put_everywhere("b");
    m_servers[0]->fail_with(Code::unavailable);
    m_servers[1]->fail_with(Code::unavailable);
    std::vector<std::string> seen;
    const Status listed = m_store->list(
        [&](std::string_view name, std::uint64_t) {
            seen.emplace_back(name);
            return true;
        },
        in_an_hour());
    EXPECT_TRUE(listed.ok());
    EXPECT_EQ(seen, (std::vector<std::string>{"a", "b"}));
}

TEST_F(BalancedStore, its_description_tells_which_are_down)
{
    EXPECT_EQ(m_store->description(), "a scripted server; a scripted server; a scripted server");
    m_servers[1]->fail_with(Code::unavailable);
    EXPECT_EQ(m_store->description(), "a scripted server; a scripted server (down); a scripted server");
    EXPECT_TRUE(m_store->is_partly_down());
}

}  // namespace

}  // namespace hearth::test
