#include "tiers/redis/redis_answers.hpp"

#include "fuzz/redis_wire.hpp"

#include <gtest/gtest.h>

namespace hearth::tiers::redis {

namespace {

using fuzz::array;
using fuzz::integer;
using fuzz::text;

Reply node(const std::string& host, std::int64_t port)
{
    return array({text(host), integer(port), text("07c37dfeb235213a872192d90877d0cd55635b91"), array({})});
}

const Endpoint k_asked{"10.0.0.9", 7000, {}};

bool is_refused(const Reply& reply)
{
    const Result<SlotMap> map = parse_slots(reply, k_asked);
    return !map.ok() && map.error().code == Code::corrupt;
}

}  // namespace

TEST(ClusterSlots, crc16_is_the_one_of_the_specification)
{
    EXPECT_EQ(crc16("123456789"), 0x31C3);
    EXPECT_EQ(crc16(""), 0);
}

TEST(ClusterSlots, a_hash_tag_stands_for_the_whole_key)
{
    EXPECT_EQ(slot_of("foo"), 12182);
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("{user1000}.followers"));
    EXPECT_EQ(slot_of("{user1000}.following"), slot_of("user1000"));
    EXPECT_EQ(slot_of("foo{}{bar}"), crc16("foo{}{bar}") % k_slots) << "an empty one is none";
    EXPECT_EQ(slot_of("foo{{bar}}zap"), slot_of("{bar"));
    EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
    EXPECT_EQ(slot_of("foo{bar"), crc16("foo{bar") % k_slots);
}

TEST(ClusterSlots, a_map_names_the_master_of_every_slot)
{
    const Result<SlotMap> map =
        parse_slots(array({array({integer(0), integer(5460), node("127.0.0.1", 30001), node("127.0.0.1", 30004)}),
                           array({integer(5461), integer(5461), node("", 30002)}),
                           array({integer(16383), integer(16383), node("127.0.0.1", 30001)})}),
                    k_asked);
    ASSERT_TRUE(map.ok()) << map.error().message;
    ASSERT_EQ(map->masters.size(), 2U);
    EXPECT_EQ(map->masters[map->owner[0]], (Endpoint{"127.0.0.1", 30001, {}}));
    EXPECT_EQ(map->masters[map->owner[5460]], (Endpoint{"127.0.0.1", 30001, {}}));
    EXPECT_EQ(map->masters[map->owner[5461]], (Endpoint{"10.0.0.9", 30002, {}})) << "no host: the one that was asked";
    EXPECT_EQ(map->owner[5462], SlotMap::k_nobody);
    EXPECT_EQ(map->owner[16383], map->owner[0]);
    EXPECT_EQ(map->replicas, (std::vector<Endpoint>{{"127.0.0.1", 30004, {}}}));
    EXPECT_TRUE(parse_slots(array({}), k_asked).value().masters.empty());
}

// A fuzzer found it.
TEST(ClusterSlots, a_master_whose_host_is_not_known_serves_nothing_and_the_others_do)
{
    const Result<SlotMap> map =
        parse_slots(array({array({integer(0), integer(99), node("?", 7000)}),
                           array({integer(100), integer(199), node("h", 7001), node("?", 7002)})}),
                    k_asked);
    ASSERT_TRUE(map.ok()) << map.error().message;
    EXPECT_EQ(map->owner[0], SlotMap::k_nobody);
    EXPECT_EQ(map->owner[100], 0);
    EXPECT_EQ(map->masters, (std::vector<Endpoint>{{"h", 7001, {}}}));
    EXPECT_TRUE(map->replicas.empty());
}

TEST(ClusterSlots, a_hostile_map_is_refused)
{
    EXPECT_TRUE(is_refused(integer(1)));
    EXPECT_TRUE(is_refused(array({integer(1)})));
    EXPECT_TRUE(is_refused(array({array({integer(0), integer(1)})})));
    EXPECT_TRUE(is_refused(array({array({text("0"), integer(4), node("h", 1)})})));
    EXPECT_TRUE(is_refused(array({array({integer(0), integer(4), array({text("h")})})})));
    for (const auto& [first, last] : {std::pair<std::int64_t, std::int64_t>(-1, 1), {0, 16384}, {0, INT64_MAX}, {5, 4}})
        EXPECT_TRUE(is_refused(array({array({integer(first), integer(last), node("h", 1)})}))) << first << ' ' << last;
    for (const auto& [host, port] :
         {std::pair<std::string, int>("h", 0), {"h", 65536}, {std::string(300, 'h'), 1}, {"a host", 1}})
        EXPECT_TRUE(is_refused(array({array({integer(0), integer(4), node(host, port)})}))) << host << ' ' << port;
    std::vector<Reply> many;
    for (std::int64_t i = 0; i < 16385; ++i)
        many.push_back(array({integer(0), integer(0), node("h", 1)}));
    EXPECT_TRUE(is_refused(array(many)));
    many.clear();
    for (std::int64_t i = 0; i < 2000; ++i)
        many.push_back(array({integer(i), integer(i), node("h", i + 1)}));
    EXPECT_TRUE(is_refused(array(many)));
}

TEST(ClusterSlots, redirections_are_read_and_nonsense_is_not)
{
    const std::optional<Redirection> moved = parse_redirection("MOVED 3999 127.0.0.1:6381", k_asked);
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->kind, Redirection::Kind::moved);
    EXPECT_EQ(moved->slot, 3999);
    EXPECT_EQ(moved->to, (Endpoint{"127.0.0.1", 6381, {}}));
    const std::optional<Redirection> ask = parse_redirection("ASK 0 ::1:6381", k_asked);
    ASSERT_TRUE(ask);
    EXPECT_EQ(ask->kind, Redirection::Kind::ask);
    EXPECT_EQ(ask->to, (Endpoint{"::1", 6381, {}}));
    EXPECT_EQ(parse_redirection("MOVED 1 :6381", k_asked).value().to, (Endpoint{"10.0.0.9", 6381, {}}));
    for (const char* words :
         {"", "MOVED", "MOVED ", "MOVED 1", "MOVED 1 host", "MOVED x h:1", "MOVED 16384 h:1", "MOVED 1 h:0",
          "MOVED 1 h:65536", "MOVED 1 h:", "MOVED 1 ?:6381", "MOVED 1 a b:1", "ERR MOVED 1 h:1", "MOVED -1 h:1"})
        EXPECT_FALSE(parse_redirection(words, k_asked)) << words;
}

}  // namespace hearth::tiers::redis
