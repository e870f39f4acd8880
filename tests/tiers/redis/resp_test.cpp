#include "tiers/redis/resp.hpp"

#include "fuzz/redis_wire.hpp"

#include <gtest/gtest.h>

namespace hearth::tiers::redis {

namespace {

constexpr std::uint64_t k_largest = 1U << 20U;

// Nothing is to come after these bytes: "whole", "more", or the code of what they are instead.
std::string read(ReplyReader& reader, std::string_view bytes, Reply& reply, std::size_t at_once = SIZE_MAX)
{
    while (true) {
        const Result<bool> whole = reader.next(reply, k_largest);
        if (!whole.ok()) {
            EXPECT_TRUE(whole.error().message.find("server:1") != std::string::npos) << whole.error().message;
            return whole.error().code == Code::too_large ? "too_large" : "corrupt";
        }
        if (*whole || bytes.empty())
            return *whole ? "whole" : "more";
        fuzz::feed(reader, bytes, at_once);
    }
}

std::string sent_by(CommandBuffer& buffer, std::size_t at_once)
{
    std::string all;
    std::array<iovec, 3> parts;
    while (!buffer.empty()) {
        const std::size_t count = buffer.left(parts);
        std::string some;
        for (std::size_t i = 0; i < count; ++i)
            some.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
        some.resize(std::min(some.size(), at_once));
        buffer.sent(some.size());
        all += some;
    }
    return all;
}

}  // namespace

TEST(Resp, commands_are_written_whatever_a_write_takes)
{
    const std::string large(5000, 'x');
    const std::string wire = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*3\r\n$3\r\nSET\r\n$0\r\n\r\n$5000\r\n" + large + "\r\n";
    for (const std::size_t at_once : {SIZE_MAX, std::size_t{1}, std::size_t{7}, std::size_t{4096}}) {
        CommandBuffer buffer;
        for (int round = 0; round < 2; ++round) {
            buffer.clear();
            buffer.add(Command("k", {"GET", "k"}));
            buffer.add(Command("", {"SET", "", large}));
            EXPECT_EQ(sent_by(buffer, at_once), wire);
        }
    }
}

TEST(Resp, replies_are_read_one_after_another)
{
    ReplyReader reader("server:1");
    Reply reply;
    ASSERT_EQ(read(reader, "+OK\r\n:-42\r\n-MOVED 1 h:2\r\n$3\r\nabc\r\n$-1\r\n+x", reply), "whole");
    EXPECT_TRUE(reply.is_ok());
    ASSERT_EQ(read(reader, {}, reply), "whole");
    EXPECT_EQ(reply.integer, -42);
    ASSERT_EQ(read(reader, {}, reply), "whole");
    EXPECT_EQ(reply.kind, Reply::Kind::error);
    EXPECT_EQ(reply.text, "MOVED 1 h:2");
    ASSERT_EQ(read(reader, {}, reply), "whole");
    EXPECT_EQ(reply.bytes.text(), "abc");
    ASSERT_EQ(read(reader, {}, reply), "whole");
    EXPECT_EQ(reply.kind, Reply::Kind::nil);
    EXPECT_EQ(read(reader, {}, reply), "more");
    EXPECT_FALSE(reader.is_drained());
    EXPECT_EQ(read(reader, "\r\n", reply), "whole");
    EXPECT_TRUE(reader.is_drained());
}

TEST(Resp, arrays_within_arrays_keep_their_order)
{
    const std::string_view wire = "*3\r\n*2\r\n:1\r\n$3\r\nabc\r\n*0\r\n*1\r\n*2\r\n$-1\r\n+x\r\n";
    ReplyReader reader("server:1");
    Reply reply;
    ASSERT_EQ(read(reader, wire, reply, 1), "whole");
    ASSERT_EQ(reply.elements.size(), 3U);
    EXPECT_EQ(reply.elements[0].elements.at(0).integer, 1);
    EXPECT_EQ(reply.elements[0].elements.at(1).text, "abc");
    EXPECT_TRUE(reply.elements[1].elements.empty());
    EXPECT_EQ(reply.elements[2].elements.at(0).elements.at(1).text, "x");
    EXPECT_TRUE(reader.is_drained());
}

TEST(Resp, a_large_object_arrives_whole)
{
    std::string object(300'000, 'a');
    object[77'777] = 'b';
    for (const std::size_t at_once : {SIZE_MAX, std::size_t{1}, std::size_t{16384}, std::size_t{16385}}) {
        ReplyReader reader("server:1");
        Reply reply;
        ASSERT_EQ(read(reader, "$300000\r\n" + object + "\r\n", reply, at_once), "whole");
        EXPECT_EQ(reply.bytes.text(), object);
        EXPECT_TRUE(reader.is_drained());
        ASSERT_EQ(read(reader, "*1\r\n$300000\r\n" + object + "\r\n", reply, at_once), "whole");
        EXPECT_EQ(reply.elements.at(0).text, object);
    }
}

TEST(Resp, what_announces_too_much_is_broken_at_once)
{
    const auto expect_corrupt = [](std::initializer_list<std::string> wires) {
        for (const std::string& wire : wires) {
            ReplyReader reader("server:1");
            Reply reply;
            EXPECT_EQ(read(reader, wire, reply), "corrupt") << wire;
        }
    };
    expect_corrupt({"*2147483647\r\n", "*9223372036854775807\r\n", "*600000\r\n", "*-2\r\n",
                    "*1\r\n$9223372036854775807\r\n", "*1\r\n$-2\r\n", "*1\r\n$99999999\r\n",
                    "*1\r\n$123456789012345678901234", "*1\r\n$x\r\n", "*1\r\n?\r\n",
                    "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"});
    expect_corrupt({":12a\r\n", "\r\n", "$\r\n", "$-2\r\n", "$9223372036854775808\r\n", "$18446744073709551616\r\n",
                    "HTTP/1.1 400 Bad Request\r\n\r\n", "$5x\r\n", "$ 5\r\n", "$+5\r\n",
                    "$1234567890123456789012345678", "\x16\x03\x01", "$3\r\nabcdef\r\n",
                    "+" + std::string(100'000, 'a')});
}

TEST(Resp, an_object_beyond_the_limit_is_refused_and_the_next_reply_read_where_that_is_cheap)
{
    ReplyReader reader("server:1");
    Reply reply;
    const auto next = [&](std::uint64_t most) { return reader.next(reply, most); };
    std::string_view wire = "$6\r\nabcdef\r\n:7\r\n$99999999\r\n";
    fuzz::feed(reader, wire);
    EXPECT_EQ(next(5).error().code, Code::too_large);
    EXPECT_FALSE(reader.is_cut_off());
    EXPECT_TRUE(next(5).value());
    EXPECT_EQ(reply.integer, 7);
    EXPECT_EQ(next(5).error().code, Code::too_large);
    EXPECT_TRUE(reader.is_cut_off());
}

TEST(Resp, a_reply_without_end_is_broken_when_it_is_too_long)
{
    for (const std::string_view one : {"*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "$1000\r\n"}) {
        ReplyReader reader("server:1");
        Reply reply;
        ASSERT_EQ(read(reader, "*500000\r\n", reply), "more");
        std::string many;
        for (int i = 0; i < 4096; ++i)
            many += one.starts_with('$') ? std::string(one) + std::string(1000, 'x') + "\r\n" : std::string(one);
        std::string state = "more";
        for (int rounds = 0; state == "more" && rounds < 1000; ++rounds)
            state = read(reader, many, reply);
        EXPECT_EQ(state, "corrupt");
    }
}

}  // namespace hearth::tiers::redis
