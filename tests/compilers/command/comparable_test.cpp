#include "compilers/command/comparable.hpp"

#include "watch/manifest.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using command::comparable;
using command::what_differs;
using watch::Condition;
using watch::Spot;
using Kind = Condition::Kind;

Condition content(const std::string& path, std::uint8_t digest, std::uint32_t same_file)
{
    Condition condition{.kind = Kind::content, .spot = {Spot::From::working_directory, 0, path}};
    condition.digest[0] = digest;
    condition.same_file = same_file;
    return condition;
}

Condition absent(const std::string& path, std::uint32_t same_file)
{
    return {.kind = Kind::absent, .spot = {Spot::From::root, 0, path}, .same_file = same_file};
}

}  // namespace

TEST(ComparableConditions, are_the_same_in_any_order_and_with_other_temporary_files)
{
    const auto one = comparable({content("b.h", 1, 0), content("a.h", 2, 1), absent("/tmp/x1.gch", 2)});
    const auto other =
        comparable({absent("/tmp/x2.gch", 0), content("a.h", 2, 1), content("b.h", 1, 2), content("a.h", 2, 1)});
    EXPECT_EQ(one, other);
    EXPECT_EQ(what_differs(one, other, {}), "");
    EXPECT_TRUE(watch::decode_conditions(watch::encode_conditions(one)));
}

TEST(ComparableConditions, say_nothing_of_the_directory_that_a_shell_was_in)
{
    const Condition old{.kind = Kind::a_directory, .spot = {Spot::From::root, 0, "/home/ann"}, .same_file = 1};
    const Condition here{.kind = Kind::a_directory, .spot = {Spot::From::working_directory, 0, {}}, .same_file = 1};
    EXPECT_EQ(comparable({content("a.h", 1, 0), old}), comparable({content("a.h", 1, 0), here}));
    const Condition below{.kind = Kind::a_directory, .spot = {Spot::From::working_directory, 0, "inc"}, .same_file = 1};
    EXPECT_NE(comparable({content("a.h", 1, 0), below}), comparable({content("a.h", 1, 0)}));
}

TEST(ComparableConditions, tell_one_file_by_two_paths_from_two_files)
{
    const auto one_file = comparable({content("b.h", 1, 0), content("a.h", 1, 0)});
    const auto two_files = comparable({content("b.h", 1, 0), content("a.h", 1, 1)});
    EXPECT_NE(one_file, two_files);
    EXPECT_NE(what_differs(one_file, two_files, {}), "");
    EXPECT_TRUE(watch::decode_conditions(watch::encode_conditions(one_file)));
}

TEST(ComparableConditions, that_differ_are_told_by_the_file_first)
{
    const Condition variable{.kind = Kind::variable, .name = "CPATH", .text = "x", .same_file = 1};
    const auto recorded = comparable({content("a.h", 1, 0), variable});
    EXPECT_EQ(what_differs(recorded, comparable({content("a.h", 2, 0)}), {}), "a.h");
    EXPECT_EQ(what_differs(recorded, comparable({content("a.h", 1, 0)}), {}), "the variable CPATH");
    EXPECT_NE(what_differs(recorded, comparable({content("a.h", 1, 0), variable, absent("/usr/include/b.h", 2)}), {}),
              "");
}

}  // namespace hearth::test
