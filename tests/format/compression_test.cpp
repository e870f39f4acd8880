#include "format/compression.hpp"

#include "support/in_threads.hpp"
#include "support/sample_entries.hpp"

#include <gtest/gtest.h>
#include <string>
#include <zstd.h>

namespace hearth::test {

namespace {

using format::compress;
using format::decompress;

std::string repetitive(std::size_t size)
{
    std::string text;
    while (text.size() < size)
        text += "mov.u32 %r" + std::to_string(text.size() % 97) + ", %tid.x;\n";
    text.resize(size);
    return text;
}

// A frame that does not say how large its content is, as a streaming compressor writes it.
std::string frame_of_unknown_size(const std::string& text)
{
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
    std::string frame(ZSTD_compressBound(text.size()), '\0');
    frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), text.data(), text.size()));
    ZSTD_freeCCtx(context);
    return frame;
}

}  // namespace

TEST(Compression, gives_back_what_it_was_given_at_every_level)
{
    for (const std::size_t size : {128U, 129U, 4096U, 200000U})
        for (const int level : {1, 3, 19}) {
            const std::string text = repetitive(size);
            const auto compressed = compress(as_bytes(text), level);
            ASSERT_TRUE(compressed);
            EXPECT_LT(compressed->size(), size);
            const auto back = decompress(*compressed, size);
            ASSERT_TRUE(back);
            EXPECT_EQ(back->text(), text);
        }
}

TEST(Compression, is_not_tried_where_it_cannot_gain_and_not_kept_where_it_gains_less_than_a_tenth)
{
    EXPECT_FALSE(compress(as_bytes(repetitive(5000)), 0)) << "level 0 is none";
    EXPECT_FALSE(compress(as_bytes(repetitive(5000)), -1));
    EXPECT_FALSE(compress({}, 1));
    EXPECT_FALSE(compress(as_bytes(std::string(127, 'a')), 1)) << "too short to be worth a frame";
    const Bytes noise = sample_bytes(Key::of("noise"), 10000);
    EXPECT_FALSE(compress(noise, 19));
    // 95 % noise: at best 5 % are gained.
    EXPECT_FALSE(compress(as_bytes(std::string(noise.text()) + std::string(500, 'a')), 19));
    // 80 % noise: enough is.
    EXPECT_TRUE(compress(as_bytes(std::string(noise.text()) + std::string(2500, 'a')), 19));
}

TEST(Compression, a_frame_of_another_size_than_expected_or_that_does_not_say_its_size_is_refused)
{
    const std::string text = repetitive(1000);
    for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{999}, std::uint64_t{1001}, std::uint64_t{1} << 62U,
                                     UINT64_MAX - 1, UINT64_MAX})
        EXPECT_FALSE(decompress(compress(as_bytes(text), 1).value(), size)) << size;
    const std::string frame = frame_of_unknown_size(text);
    EXPECT_FALSE(decompress(as_bytes(frame), 1000));
    // What zstd answers for "unknown" and for "not a frame" are numbers too; they must not be taken for sizes.
    EXPECT_FALSE(decompress(as_bytes(frame), ZSTD_CONTENTSIZE_UNKNOWN));
    EXPECT_FALSE(decompress(as_bytes("not a frame at all"), ZSTD_CONTENTSIZE_ERROR));
    EXPECT_FALSE(decompress({}, 0));
}

TEST(Compression, a_frame_whose_content_is_not_as_large_as_it_says_is_refused)
{
    const std::string text = repetitive(60000);
    std::string frame(compress(as_bytes(text), 1).value().text());
    ASSERT_EQ(ZSTD_getFrameContentSize(frame.data(), frame.size()), 60000U);
    // The content size of such a frame is a u16, less 256, after the magic and the descriptor.
    for (const int lie : {1000, 59999, 60001, 65000}) {
        const int written = lie - 256;
        frame[5] = static_cast<char>(written & 0xFF);
        frame[6] = static_cast<char>(written >> 8);
        ASSERT_EQ(ZSTD_getFrameContentSize(frame.data(), frame.size()), static_cast<unsigned>(lie));
        EXPECT_FALSE(decompress(as_bytes(frame), static_cast<std::uint64_t>(lie))) << lie;
    }
}

TEST(Compression, every_cut_of_a_frame_is_refused)
{
    const std::string text = repetitive(3000);
    const Bytes frame = compress(as_bytes(text), 1).value();
    for (std::size_t size = 0; size < frame.size(); ++size)
        EXPECT_FALSE(decompress(frame.view().first(size), text.size())) << size;
}

TEST(Compression, only_one_frame_and_nothing_after_it_is_taken)
{
    const std::string text = repetitive(1000);
    const std::string frame(compress(as_bytes(text), 1).value().text());
    const std::string skippable("\x50\x2A\x4D\x18\x00\x00\x00\x00", 8);
    EXPECT_TRUE(decompress(as_bytes(frame), 1000));
    EXPECT_FALSE(decompress(as_bytes(frame + frame), 1000));
    EXPECT_FALSE(decompress(as_bytes(frame + frame), 2000));
    EXPECT_FALSE(decompress(as_bytes(frame + "x"), 1000));
    EXPECT_FALSE(decompress(as_bytes(frame + skippable), 1000));
    EXPECT_FALSE(decompress(as_bytes(skippable + frame), 1000));
    EXPECT_FALSE(decompress(as_bytes(skippable), 0));
}

TEST(Compression, works_in_many_threads_at_once_and_a_refused_frame_leaves_nothing_behind_for_the_next)
{
    in_threads(4, [](std::uint64_t number) {
        const std::string text = repetitive(2000 + number);
        for (int round = 0; round < 200; ++round) {
            const auto frame = compress(as_bytes(text), 1);
            ASSERT_TRUE(frame);
            ASSERT_FALSE(decompress(frame->view().first(frame->size() / 2), text.size()));
            ASSERT_EQ(decompress(*frame, text.size()).value().text(), text);
        }
    });
}

}  // namespace hearth::test
