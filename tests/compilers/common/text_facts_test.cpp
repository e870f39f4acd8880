#include "compilers/common/text_facts.hpp"

#include <gtest/gtest.h>
#include <string>

namespace hearth::test {

namespace {

using compilers::TextFacts;

constexpr std::string_view k_text =
    "#define CAT(a, b) a##b\n#define NAME(x) CAT(one_, x)\n#include NAME(two)\nint three;\n";

TEST(TextFacts, are_the_same_when_they_are_read_again)
{
    const TextFacts made = TextFacts::of_source(k_text);
    const std::optional<TextFacts> read = TextFacts::decode(as_bytes(made.encode()));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->encode(), made.encode());
    EXPECT_EQ(read->used(), made.used());
    EXPECT_TRUE(read->uses(TextFacts::hash("three")));
    EXPECT_TRUE(read->mentions(TextFacts::hash("one_")));
    EXPECT_TRUE(read->includes_what_is_pasted());
    EXPECT_FALSE(read->is_tangled());
    ASSERT_EQ(read->definitions().size(), 2);
    EXPECT_EQ(read->definitions()[1].name, "NAME");
    EXPECT_TRUE(read->definitions()[0].pastes);
    EXPECT_FALSE(read->definitions()[1].pastes);
}

// They are kept by one build of the library and read by another.
TEST(TextFacts, hash_words_alike_in_every_build)
{
    EXPECT_EQ(TextFacts::hash("a"), 0xa4ab72ea1300aae8U);
    EXPECT_EQ(TextFacts::hash("__FILE__"), 0xdc17943f0ce406bbU);
    EXPECT_EQ(TextFacts::hash("__builtin_source_location"), 0xdf31e33fc26585fcU);
}

TEST(TextFacts, that_are_cut_short_are_none_or_fewer_definitions)
{
    const std::string whole = TextFacts::of_source(k_text).encode();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::optional<TextFacts> read = TextFacts::decode(as_bytes(whole).first(size));
        EXPECT_LT(read ? read->definitions().size() : 0, 2) << size;
    }
}

}  // namespace

}  // namespace hearth::test
