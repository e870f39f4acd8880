#include "tiers/redis/reply.hpp"

#include <gtest/gtest.h>

namespace hearth::tiers::redis {

namespace {

using State = ReplyDecoder::State;

State feed_bytewise(ReplyDecoder& decoder, std::string_view bytes, Reply& reply)
{
    State state = State::more;
    for (const char byte : bytes)
        if (state == State::more)
            state = decoder.feed({&byte, 1}, reply);
    return state;
}

}  // namespace

TEST(ReplyDecoder, lines_are_decoded_one_after_another)
{
    ReplyDecoder decoder;
    Reply reply;
    ASSERT_EQ(decoder.feed("+OK\r\n", reply), State::whole);
    EXPECT_TRUE(reply.is_ok());
    ASSERT_EQ(decoder.feed(":-42\r\n", reply), State::whole);
    EXPECT_EQ(reply.integer, -42);
    ASSERT_EQ(decoder.feed("-MOVED 1 h:2\r\n", reply), State::whole);
    EXPECT_EQ(reply.kind, Reply::Kind::error);
    EXPECT_EQ(reply.text, "MOVED 1 h:2");
}

TEST(ReplyDecoder, arrays_within_arrays_keep_their_order)
{
    const std::string_view wire = "*3\r\n*2\r\n:1\r\n$3\r\nabc\r\n*0\r\n*1\r\n*2\r\n$-1\r\n+x\r\n";
    ReplyDecoder decoder;
    Reply reply;
    ASSERT_EQ(feed_bytewise(decoder, wire, reply), State::whole);
    ASSERT_EQ(reply.elements.size(), 3U);
    EXPECT_EQ(reply.elements[0].elements.at(0).integer, 1);
    EXPECT_EQ(reply.elements[0].elements.at(1).text, "abc");
    EXPECT_TRUE(reply.elements[1].elements.empty());
    EXPECT_EQ(reply.elements[2].elements.at(0).elements.at(1).text, "x");
    EXPECT_EQ(decoder.left_over(), 0U);
}

TEST(ReplyDecoder, what_announces_too_much_is_broken_at_once)
{
    for (const std::string_view wire :
         {"*2147483647\r\n", "*9223372036854775807\r\n", "*600000\r\n", "*-2\r\n", "*1\r\n$9223372036854775807\r\n",
          "*1\r\n$-2\r\n", "*1\r\n$99999999\r\n", "*1\r\n$123456789012345678901234", "*1\r\n$x\r\n", "*1\r\n?\r\n",
          "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", ":12a\r\n"}) {
        ReplyDecoder decoder;
        Reply reply;
        EXPECT_EQ(decoder.feed(wire, reply), State::broken) << wire;
        EXPECT_FALSE(decoder.why_broken().empty());
    }
}

TEST(ReplyDecoder, a_reply_without_end_is_broken_when_it_is_too_long)
{
    ReplyDecoder decoder;
    Reply reply;
    ASSERT_EQ(decoder.feed("*500000\r\n", reply), State::more);
    std::string numbers;
    for (int i = 0; i < 4096; ++i)
        numbers += "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n";
    State state = State::more;
    int rounds = 0;
    while (state == State::more && ++rounds < 1000)
        state = decoder.feed(numbers, reply);
    EXPECT_EQ(state, State::broken);
}

TEST(BulkHeader, lengths_are_read_whole_or_not_at_all)
{
    using Header = BulkHeader::State;
    EXPECT_EQ(parse_bulk_header("5").state, Header::more);
    EXPECT_EQ(parse_bulk_header("5\r").state, Header::more);
    EXPECT_EQ(parse_bulk_header("5\r\nhello").length, 5);
    EXPECT_EQ(parse_bulk_header("5\r\nhello").size, 3U);
    EXPECT_EQ(parse_bulk_header("-1\r\n").length, -1);
    EXPECT_EQ(parse_bulk_header("9223372036854775807\r\n").state, Header::whole);
    for (const std::string_view text :
         {"\r\n", "-2\r\n", "9223372036854775808\r\n", "5x\r\n", " 5\r\n", "+5\r\n", "1234567890123456789012345678"})
        EXPECT_EQ(parse_bulk_header(text).state, Header::broken) << text;
}

}  // namespace hearth::tiers::redis
