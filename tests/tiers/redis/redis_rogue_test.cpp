#include "redis_fixture.hpp"
#include "remote/breaker.hpp"
#include "support/eventually.hpp"
#include "support/faulty_files.hpp"
#include "support/rogue_server.hpp"
#include "support/scratch_directory.hpp"

#include <atomic>

namespace hearth::test {

namespace {

using Then = RogueServer::Then;

std::string get_code(const std::string& answer, Then then)
{
    const RogueServer server(answer, then);
    return code_of(store_at(local_url(server.port()))->get("k", soon()));
}

std::string host_of(const RogueServer& server)
{
    return "127.0.0.1:" + std::to_string(server.port());
}

std::unique_ptr<remotes::RemoteStore> cluster_of(const RogueServer& server)
{
    return store_at("redis+cluster://" + host_of(server));
}

// Where processes tell each other of nodes, and what one of them does that has been refused by a node.
struct SharedState {
    void refuse(const RogueServer& node)
    {
        remotes::Breaker(remotes::state_file_of(file, host_of(node)), remotes::Breaker::wall_ns)
            .failed(remotes::Breaker::Failure::refusal);
    }
    std::unique_ptr<remotes::RemoteStore> cluster_at(const std::string& hosts) const
    {
        remotes::StoreOptions options = options_for("redis+cluster://" + hosts);
        options.state_file = file;
        return tiers::open_redis_store(options).value();
    }

    ScratchDirectory scratch;
    std::string file = scratch / "remotes/cluster";
};

// A map in which one node has everything.
std::string map_with(const RogueServer& node)
{
    return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:" + std::to_string(node.port()) + "\r\n";
}

}  // namespace

TEST(RedisRogue, nobody_is_sent_to_a_node_that_is_left_alone)
{
    for (const std::string_view word : {"MOVED", "ASK"}) {
        SharedState state;
        const RogueServer dead("", Then::stay);
        const RogueServer node("-" + std::string(word) + " 1 " + host_of(dead) + "\r\n", Then::stay);
        const RogueServer seed(map_with(node), Then::stay);
        state.refuse(dead);
        const auto store = state.cluster_at(host_of(seed));
        EXPECT_EQ(code_of(store->get("k", soon())), "unavailable") << word;
        EXPECT_EQ(dead.connections(), 0) << word;
        EXPECT_GE(node.connections(), 1) << word;
    }
}

TEST(RedisRogue, a_new_process_asks_first_those_of_an_address_that_others_found_working)
{
    SharedState state;
    const RogueServer dead("", Then::stay);
    const RogueServer node("$-1\r\n", Then::stay);
    const RogueServer seed(map_with(node), Then::stay);
    state.refuse(dead);
    const auto store = state.cluster_at(host_of(dead) + "," + host_of(seed));
    EXPECT_FALSE(store->get("k", soon()).value().has_value());
    EXPECT_EQ(dead.connections(), 0);
}

TEST(RedisRogue, a_cluster_says_whose_server_is_left_alone)
{
    SharedState state;
    const RogueServer node("$-1\r\n", Then::stay);
    const RogueServer seed(map_with(node), Then::stay);
    const auto store = state.cluster_at(host_of(seed));
    EXPECT_FALSE(store->rests("k")) << "nothing is known yet";
    ASSERT_TRUE(store->get("k", soon()).ok());
    EXPECT_FALSE(store->rests("k"));
    state.refuse(node);
    EXPECT_TRUE(eventually("it has looked at what others say", [&] { return store->rests("k"); }));
    EXPECT_EQ(code_of(store->get("k", soon())), "unavailable");
}

TEST(RedisRogue, what_is_not_redis_is_corrupt)
{
    // Each way of breaking the grammar is resp_test.cpp's; these are such, and replies that answer something else.
    for (const std::string_view answer :
         {"HTTP/1.1 400 Bad Request\r\n\r\n", "$-2\r\n", "*2147483647\r\n", "$3\r\nabcdef\r\n", "*1\r\n:1\r\n:1\r\n",
          "+OK\r\n", ":1\r\n", "*0\r\n", "%1\r\n+a\r\n+b\r\n"})
        EXPECT_EQ(get_code(std::string(answer), Then::stay), "corrupt") << answer;
}

TEST(RedisRogue, a_length_beyond_the_limit_is_refused_before_memory_is_taken_and_one_that_breaks_off_is_unavailable)
{
    EXPECT_EQ(get_code("$9223372036854775807\r\n", Then::stay), "too_large");
    EXPECT_EQ(get_code("$1099511627776\r\nabc", Then::stay), "too_large");
    for (const std::string_view answer :
         {"", "$", "$10\r\n", "$10\r\nabc", "$3\r\nabc", "$3\r\nabc\r", "+O", "*2\r\n:1\r\n", "-ER"})
        EXPECT_EQ(get_code(std::string(answer), Then::close), "unavailable") << answer;
}

TEST(RedisRogue, one_that_says_nothing_is_a_timeout)
{
    for (const std::string_view answer : {"", "$10\r\nabc", "+O", "*2\r\n:1\r\n"}) {
        const RogueServer server(std::string(answer), Then::stay);
        const auto store = store_at(local_url(server.port()));
        EXPECT_EQ(code_of(store->get("k", in(std::chrono::milliseconds(50)))), "timeout") << answer;
    }
}

TEST(RedisRogue, a_connection_that_said_too_much_is_not_used_again)
{
    const RogueServer server("$1\r\na\r\n$1\r\nb\r\n", Then::stay);
    const auto store = store_at(local_url(server.port()));
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(store->get("k", soon()).value().value().text(), "a");
    EXPECT_EQ(server.connections(), 5);
}

TEST(RedisRogue, a_connection_that_failed_is_not_used_again)
{
    const RogueServer server("$5\r\nab", Then::stay);
    const auto store = store_at(local_url(server.port()));
    EXPECT_TRUE(eventually("it has made more connections", [&] {
        EXPECT_EQ(code_of(store->get("k", in(std::chrono::milliseconds(30)))), "timeout");
        return server.connections() >= 3;
    }));
    EXPECT_EQ(server.most_requests(), 1) << "of one connection";
}

TEST(RedisRogue, what_it_says_is_shown_printable_and_short_and_without_a_password_that_it_repeats)
{
    const RogueServer server("-ERR \x1b[31m" + std::string(5000, 'x') + "\r\n", Then::stay);
    const auto said = store_at(local_url(server.port()))->get("k", soon());
    ASSERT_FALSE(said.ok());
    EXPECT_EQ(said.error().message.find('\x1b'), std::string::npos);
    EXPECT_LT(said.error().message.size(), 400U);
    const RogueServer parrot("-ERR unknown command 'AUTH', with args beginning with: 'very' 'secret'\r\n", Then::stay);
    const auto got = store_at("redis://very:secret@" + host_of(parrot))->get("k", soon());
    EXPECT_EQ(code_of(got), "denied");
    EXPECT_EQ(got.error().message.find("secret"), std::string::npos) << got.error().message;
}

TEST(RedisRogue, sending_to_one_that_closes_raises_no_signal)
{
    const RogueServer server("", Then::close);
    const auto store = store_at(local_url(server.port()));
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(code_of(store->put("k", bytes_for(1, 8'000'000), soon())), "unavailable");
}

TEST(RedisRogue, a_cluster_that_sends_us_in_circles_is_left)
{
    const RogueServer server("-MOVED 1 :1\r\n", Then::stay);
    EXPECT_EQ(code_of(cluster_of(server)->get("k", soon())), "unavailable");
    for (const std::string_view answer :
         {"*1\r\n*3\r\n:0\r\n:99999\r\n*2\r\n$1\r\nh\r\n:1\r\n", "*16385\r\n", "*2147483647\r\n", "+OK\r\n",
          "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:0\r\n"}) {
        const RogueServer other(std::string(answer), Then::close);
        const std::string code = code_of(cluster_of(other)->get("k", soon()));
        EXPECT_TRUE(code == "corrupt" || code == "unavailable") << answer << ": " << code;
    }
}

TEST(RedisRogue, a_node_of_a_cluster_that_talks_nonsense_is_corrupt)
{
    const RogueServer node("+PONG\r\n", Then::stay);
    const RogueServer seed(map_with(node), Then::stay);
    EXPECT_EQ(code_of(cluster_of(seed)->get("k", soon())), "corrupt");
}

TEST(RedisRogue, a_list_that_never_ends_and_names_nothing_can_be_left)
{
    const RogueServer server("*2\r\n$1\r\n7\r\n*0\r\n", Then::stay);
    int asked = 0;
    const auto go_on = [&](std::string_view name, std::uint64_t) { return !name.empty() || ++asked < 3; };
    EXPECT_TRUE(store_at(local_url(server.port()))->list(go_on, soon()).ok());
    EXPECT_EQ(asked, 3);
}

// Each lookup is sent to a host that nobody has named before, and answered there.
TEST(RedisRogue, a_cluster_that_names_ever_more_nodes_takes_no_more_descriptors)
{
    std::atomic<std::uint16_t> port{0};
    int maps = 0;
    std::size_t asked = 0;
    const RogueServer server(
        [&](std::string_view words) -> std::string {
            const std::string here = std::to_string(port.load());
            if (words.find("CLUSTER") != std::string_view::npos)
                return maps++ != 0 ? "-ERR\r\n"
                                   : "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:" + here + "\r\n";
            if (++asked % 2 == 0)
                return "$-1\r\n";
            const std::string another =
                "127.0.0." + std::string(asked % 200, '0') + std::string(asked / 200, '0') + "1";
            return "-MOVED 1 " + another + ":" + here + "\r\n";
        },
        Then::stay);
    port = server.port();
    const auto store = cluster_of(server);
    for (int i = 0; i < 190; ++i)
        EXPECT_FALSE(store->get("k", soon()).value().has_value());
    EXPECT_GT(server.connections(), 90);
    EXPECT_LT(open_descriptors(), 170U) << "two for each connection";
}

// One node by a thousand names.
TEST(RedisRogue, a_cluster_of_a_thousand_masters_takes_no_more_descriptors)
{
    constexpr int k_masters = 1000;
    std::atomic<std::uint16_t> port{0};
    const auto map = [&] {
        std::string text = "*" + std::to_string(k_masters) + "\r\n";
        for (int i = 0; i < k_masters; ++i) {
            const auto zeros = [](int count) { return std::string(static_cast<std::size_t>(count), '0'); };
            const std::string host = "127." + zeros(1 + i / 32) + "." + zeros(1 + i % 32) + ".1";
            const int first = i * 16;
            const int last = i + 1 == k_masters ? 16383 : first + 15;
            text += "*3\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) + "\r\n*2\r\n$" +
                    std::to_string(host.size()) + "\r\n" + host + "\r\n:" + std::to_string(port.load()) + "\r\n";
        }
        return text;
    };
    const RogueServer server(
        [&](std::string_view words) {
            return words.find("CLUSTER") != std::string_view::npos ? map() : std::string("$-1\r\n");
        },
        Then::stay);
    port = server.port();
    const auto store = cluster_of(server);
    for (int i = 0; i < 1500; ++i)
        EXPECT_FALSE(store->get("k" + std::to_string(i), soon()).value().has_value());
    EXPECT_GT(server.connections(), 500) << "most masters were asked";
    // Here both ends of a connection, and the state of each node, count.
    EXPECT_LT(open_descriptors(), 3 * 128U + 100);
}

}  // namespace hearth::test
