#include "headers/mentions.hpp"

#include <gtest/gtest.h>

namespace hearth::headers {

namespace {

using Words = Macros::Words;
using Views = std::unordered_set<std::string_view>;

Macros macros_in(std::string_view source)
{
    Macros macros;
    for (const Macro& macro : scan(source).macros)
        macros.add(macro);
    return macros;
}

TEST(Mentions, are_found_through_other_macros)
{
    const Macros macros =
        macros_in("#define WHERE __FILE__\n#define CHECK(x) fail(WHERE, x)\n#define SUM(a, b) a + b\n");
    EXPECT_EQ(Mentions(macros).of({"__FILE__"}), (Words{"WHERE", "CHECK"}));
    EXPECT_EQ(Mentions(macros).of({"nothing"}), Words{});
}

TEST(Pastes, make_a_name_only_where_all_of_its_pieces_are_at_hand)
{
    const Macros macros = macros_in("#define JOIN(a, b) a##b\n#define ANNOTATE(a) __##a##__\n"
                                    "#define KERNEL ANNOTATE(global)\n#define HERE JOIN(__FI, LE__)\n");
    const Mentions mentions(macros);
    const Views all{"FILE", "ANNOTATE", "KERNEL", "JOIN", "HERE", "__FI", "LE__"};
    const Pasting pasting({"__FILE__"}, all, mentions);
    EXPECT_TRUE(pasting.is_possible_with({"JOIN", "__FI", "LE__"}));
    EXPECT_TRUE(pasting.is_possible_with({"ANNOTATE", "FILE"}));
    EXPECT_TRUE(pasting.is_possible_with({"HERE"}));
    EXPECT_FALSE(pasting.is_possible_with({"JOIN", "__FI"}));
    EXPECT_FALSE(pasting.is_possible_with({"KERNEL"}));
    EXPECT_FALSE(pasting.is_possible_with({"FILE"})) << "nothing pastes";
    EXPECT_FALSE(pasting.is_possible_with({"ANNOTATE", "TIME"}));
}

TEST(Pastes, have_numbers_at_hand)
{
    const Macros macros =
        macros_in("#define CHECK_12 __FILE__\n#define AT(line) CHECK_##line\n#define NOW AT(__LINE__)\n");
    const Mentions mentions(macros);
    const Pasting pasting({"CHECK_12"}, {"NOW"}, mentions);
    EXPECT_TRUE(pasting.is_possible_with({"NOW"}));
    EXPECT_FALSE(pasting.is_possible_with({"__LINE__"}));
}

}  // namespace

}  // namespace hearth::headers
