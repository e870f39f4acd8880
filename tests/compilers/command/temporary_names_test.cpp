#include "compilers/command/temporary_names.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using Names = std::vector<std::string>;

const Names k_first{"tmpxft_00000001_00000000-3_x.fatbin.c", "/tmp/tmpxft_00000001_00000000-7_x.stub.c"};
const Names k_second{"tmpxft_00000abc_00000000-3_x.fatbin.c", "/other/tmpxft_00000abc_00000000-12_x.compute_80.stub.c"};

std::string text_with(const Names& names)
{
    return "#include \"" + names[0] + "\"\n# 1 \"" + names[1] + "\"\nint tmp; // " + names[0] + names[1];
}

}  // namespace

TEST(TemporaryNames, are_told_by_how_nvcc_begins_them)
{
    EXPECT_TRUE(command::is_temporary(k_first[0]));
    EXPECT_TRUE(command::is_temporary(k_first[1]));
    for (const char* other : {"x.ptx", "/tmp/tmpxft_dir/x.ptx", "", "a_tmpxft_1"})
        EXPECT_FALSE(command::is_temporary(other)) << other;
    EXPECT_EQ(command::lasting_part(k_first[1]), "x.stub.c");
}

TEST(TemporaryNames, are_given_again_as_the_next_call_has_them)
{
    const std::optional<Bytes> kept = command::without_names(text_with(k_first), k_first);
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->text().find("tmpxft_"), std::string_view::npos);
    EXPECT_EQ(command::with_names(kept->text(), k_second), text_with(k_second));
    EXPECT_EQ(command::without_names("no name", k_first)->text(), "no name");
}

TEST(TemporaryNames, that_were_not_given_are_not_kept)
{
    EXPECT_FALSE(command::without_names(text_with(k_second), k_first));
    EXPECT_FALSE(command::without_names("tmpxft_", {}));
    // Only the file's name, of one that was given with its directory.
    EXPECT_FALSE(command::without_names("tmpxft_00000001_00000000-7_x.stub.c", k_first));
}

TEST(TemporaryNames, may_begin_as_others_do)
{
    const Names names{"tmpxft_1_0-1_x", "tmpxft_1_0-1_x.c", "/tmp/tmpxft_1_0-1_x"};
    const std::string text = "tmpxft_1_0-1_x.c tmpxft_1_0-1_x /tmp/tmpxft_1_0-1_x";
    const std::optional<Bytes> kept = command::without_names(text, names);
    ASSERT_TRUE(kept);
    EXPECT_EQ(command::with_names(kept->text(), {"a", "b", "c"}), "b a c");
}

TEST(TemporaryNames, do_not_let_a_file_grow_beyond_all_measure)
{
    const auto kept = command::without_names("tmpxft_1", {"tmpxft_1"});
    ASSERT_TRUE(kept);
    std::string many;
    for (int i = 0; i < 20'000; ++i)
        many += kept->text();
    EXPECT_TRUE(command::with_names(many.substr(0, many.size() / 2), {std::string(1000, 'a')}));
    EXPECT_FALSE(command::with_names(many, {std::string(1000, 'a')}));
}

TEST(TemporaryNames, in_a_damaged_entry_are_noticed)
{
    const std::string kept(command::without_names(text_with(k_first), k_first)->text());
    EXPECT_FALSE(command::with_names(kept, {k_second[0]}));
    EXPECT_FALSE(command::with_names(kept.substr(0, kept.size() - 1), k_second));
    EXPECT_FALSE(command::without_names(kept, k_first)) << "it would be taken for names of ours";
}

}  // namespace hearth::test
