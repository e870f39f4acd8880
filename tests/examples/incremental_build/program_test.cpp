#include "eph_test.hpp"

#include <gtest/gtest.h>

namespace eph {
namespace {

using test::run;
using test::value_of;

TEST(Program, ints_wrap_around_and_division_is_total)
{
    EXPECT_EQ(value_of("return 9223372036854775807 + 1;"), INT64_MIN);
    EXPECT_EQ(value_of("return -7 / 2;"), -3);
    EXPECT_EQ(value_of("return -7 % 2;"), -1);
    EXPECT_EQ(value_of("return 7 / 0 + 7 % 0;"), 0);
    EXPECT_EQ(value_of("let least = -9223372036854775807 - 1; return least / -1;"), INT64_MIN);
    EXPECT_EQ(value_of("let least = -9223372036854775807 - 1; return least % -1;"), 0);
}

TEST(Program, floats_convert_to_the_nearest_int_there_is)
{
    EXPECT_EQ(value_of("return int(2.9) * 10 + int(-2.9);"), 18);
    EXPECT_EQ(value_of("return int(1.0e300);"), INT64_MAX);
    EXPECT_EQ(value_of("return int(-1.0e300);"), INT64_MIN);
    EXPECT_EQ(value_of("return int(9223372036854775807 + 0.0);"), INT64_MAX);
    EXPECT_EQ(value_of("return int(0.0 / 0.0);"), 0);
    EXPECT_EQ(value_of("return int(1 / 4 * 100.0) + int(1 / 4.0 * 100);"), 25);
    EXPECT_EQ(value_of("if 1.0 / -0.0 < 0.0 { return 1; } return 0;"), 1);
}

TEST(Program, loops_and_choices_carry_variables)
{
    EXPECT_EQ(value_of("let a = 0; let b = 1; let i = 0; while i < 50 { let t = a + b; a = b; b = t; i = i + 1; } "
                       "return a;"),
              12586269025);
    EXPECT_EQ(value_of("let n = 27; let steps = 0; while n != 1 { if n % 2 == 0 { n = n / 2; } else { n = n * 3 + 1; } "
                       "steps = steps + 1; } return steps;"),
              111);
    EXPECT_EQ(value_of("let i = 0; while true { i = i + 1; if i > 5 { return i; } } return 0;"), 6);
    EXPECT_EQ(value_of("let s = 0; let i = 0; while i < 4 { let j = 0; while j < i { s = s * 2 + j; j = j + 1; } "
                       "i = i + 1; } return s;"),
              12);
}

TEST(Program, the_right_side_of_a_decided_condition_does_not_run)
{
    const std::string source = "fn endless() -> bool { while true { } return true; }\n"
                               "export fn main() -> int { if false && endless() { return 1; }\n"
                               "if true || endless() { return 2; } return 3; }";
    EXPECT_EQ(run({{"main", source}}).value(), 2);
}

TEST(Program, modules_call_each_other)
{
    EXPECT_EQ(run({{"main", "import even; export fn main() -> int { if even.even(10) { return 1; } return 0; }"},
                   {"even", "import odd; export fn even(n: int) -> bool { if n == 0 { return true; } "
                            "return odd.odd(n - 1); }"},
                   {"odd", "import even; export fn odd(n: int) -> bool { if n == 0 { return false; } "
                           "return even.even(n - 1); }"}})
                  .value(),
              1);
}

TEST(Program, what_runs_for_too_long_is_stopped)
{
    const auto endless = run({{"main", "export fn main() -> int { while true { } return 1; }"}}, {.steps = 1000});
    ASSERT_FALSE(endless);
    EXPECT_EQ(endless.error().message, "The program was stopped. It runs for more than 1000 steps.");
    const auto deep = run({{"main", "export fn main() -> int { return 1 + main(); }"}});
    ASSERT_FALSE(deep);
    EXPECT_EQ(deep.error().message, "The program was stopped. It calls deeper than 1000 functions.");
}

hearth::Result<Program> linked(const std::vector<std::pair<std::string, std::string>>& modules, const Outline& far)
{
    std::vector<LinkedModule> made;
    for (const auto& [name, source] : modules)
        made.push_back({name, test::lowered(source, {{"far", &far.interface}})});
    return Program::link(std::move(made));
}

// What a stale entry would look like: it must not run.
TEST(Program, a_module_that_was_compiled_against_another_interface_does_not_link)
{
    const Outline before = outline_of("export fn f(x: int) -> int { return x; }");
    const std::string main = "import far; export fn main() -> int { return far.f(1); }";
    EXPECT_TRUE(linked({{"main", main}, {"far", "export fn f(x: int) -> int { return x; }"}}, before).ok());
    for (const std::string far : {"export fn f(x: float) -> int { return 1; }", "fn f(x: int) -> int { return x; }",
                                  "export fn g(x: int) -> int { return x; }"}) {
        const auto program = linked({{"main", main}, {"far", far}}, before);
        ASSERT_FALSE(program) << far;
        EXPECT_EQ(program.error().message,
                  "The module \"main\" calls far.f(int) -> int, and there is no such function.");
    }
    EXPECT_FALSE(linked({{"main", main}}, before));
}

TEST(Program, without_one_main_there_is_nothing_to_start)
{
    EXPECT_FALSE(run({{"other", "export fn main() -> int { return 1; }"}}));
    EXPECT_FALSE(run({{"main", "fn main() -> int { return 1; }"}}));
    EXPECT_FALSE(run({{"main", "export fn main(n: int) -> int { return 1; }"}}));
    EXPECT_FALSE(linked({{"main", "export fn main() -> int { return 1; }"}, {"main", ""}}, {}));
}

}  // namespace
}  // namespace eph
