#include "eph_test.hpp"

#include <gtest/gtest.h>

namespace eph {
namespace {

using test::error_of;

std::string error_in(const std::string& body)
{
    return error_of("fn f(n: int, x: float, yes: bool) -> int {\n" + body + "\n}");
}

TEST(Checker, names_have_to_be_declared_once)
{
    EXPECT_EQ(error_in("return a;"), "test.eph:2:8: error: There is no variable \"a\" here.");
    EXPECT_EQ(error_in("a = 1; return 1;"), "test.eph:2:1: error: There is no variable \"a\" here.");
    EXPECT_EQ(error_in("let n = 1; return 1;"), "test.eph:2:1: error: There is already a variable \"n\" here.");
    EXPECT_EQ(error_in("if yes { let a = 1; } return a;"), "test.eph:2:30: error: There is no variable \"a\" here.");
    EXPECT_EQ(error_in("if yes { let a = 1; } let a = true; return 1;"), "");
    EXPECT_EQ(error_in("let a = a; return 1;"), "test.eph:2:9: error: There is no variable \"a\" here.");
    EXPECT_EQ(error_of("fn f() -> int { return 1; } fn f() -> int { return 1; }"),
              "test.eph:1:32: error: There is already a function \"f\".");
    EXPECT_EQ(error_of("fn f(a: int, a: int) -> int { return 1; }"),
              "test.eph:1:14: error: There is already a variable \"a\" here.");
}

TEST(Checker, types_have_to_fit)
{
    EXPECT_EQ(error_in("return x;"), "test.eph:2:8: error: This is a float, where an int is wanted.");
    EXPECT_EQ(error_in("return yes;"), "test.eph:2:8: error: This is a bool, where an int is wanted.");
    EXPECT_EQ(error_in("if n { return 1; } return 2;"), "test.eph:2:4: error: This is an int, where a bool is wanted.");
    EXPECT_EQ(error_in("while x < 1.0 || n { } return 2;"),
              "test.eph:2:18: error: This is an int, where a bool is wanted.");
    EXPECT_EQ(error_in("n = x; return 1;"), "test.eph:2:5: error: This is a float, where an int is wanted.");
    EXPECT_EQ(error_in("let a: bool = 1; return 1;"), "test.eph:2:15: error: This is an int, where a bool is wanted.");
    EXPECT_EQ(error_in("return -yes;"), "test.eph:2:8: error: There is no negative of a bool. \"!\" inverts it.");
    EXPECT_EQ(error_in("return n + yes;"),
              "test.eph:2:10: error: This operator takes no int on its left with a bool on its right.");
    EXPECT_EQ(error_in("let a = yes < yes; return 1;"),
              "test.eph:2:13: error: This operator takes no bool on its left with a bool on its right.");
    EXPECT_EQ(error_in("return int(x % 2);"),
              "test.eph:2:14: error: A remainder is of two ints; one of these is a float.");
    EXPECT_EQ(error_in("return int(yes);"), "test.eph:2:8: error: A bool and a number do not convert into each other.");
    EXPECT_EQ(error_in("let a = bool(n); return 1;"),
              "test.eph:2:9: error: A bool and a number do not convert into each other.");
}

TEST(Checker, an_int_becomes_a_float_where_one_is_wanted)
{
    EXPECT_EQ(error_in("let a: float = n; x = n; x = n + x; if n < x { return 1; } return int(x);"), "");
    EXPECT_EQ(error_of("fn f(x: float) -> float { return 1; } fn g() -> float { return f(2); }"), "");
}

TEST(Checker, every_path_has_to_return_and_nothing_follows_a_return)
{
    EXPECT_EQ(error_in("if yes { return 1; }"),
              "test.eph:3:1: error: The function \"f\" can come to its end here without a \"return\".");
    EXPECT_EQ(error_in("while true { return 1; }"),
              "test.eph:3:1: error: The function \"f\" can come to its end here without a \"return\".");
    EXPECT_EQ(error_in("if yes { return 1; } else if n > 1 { return 2; } else { return 3; }"), "");
    EXPECT_EQ(error_in("return 1; n = 2;"),
              "test.eph:2:11: error: This is never reached: what stands before it has returned.");
    EXPECT_EQ(error_in("if yes { return 1; } else { return 2; } return 3;"),
              "test.eph:2:41: error: This is never reached: what stands before it has returned.");
}

TEST(Checker, calls_have_to_fit_the_function_they_call)
{
    EXPECT_EQ(error_in("return g(1);"), "test.eph:2:8: error: There is no function \"g\" in this module.");
    EXPECT_EQ(error_in("return f(1);"), "test.eph:2:8: error: \"f\" takes 3 arguments, and 1 argument is given.");
    EXPECT_EQ(error_of("fn f(a: int) -> int { return f(); }"),
              "test.eph:1:30: error: \"f\" takes 1 argument, and 0 arguments are given.");
    EXPECT_EQ(error_in("return f(1, 2, 3);"), "test.eph:2:16: error: This is an int, where a bool is wanted.");
}

TEST(Checker, of_other_modules_only_what_is_imported_and_exported_can_be_seen)
{
    const test::Modules others{{"far", "export fn f(x: float) -> int { return 1; } fn hidden() -> int { return 1; }"}};
    EXPECT_EQ(error_of("import far; fn g() -> int { return far.f(1); }", others), "");
    EXPECT_EQ(error_of("import gone;", others), "test.eph:1:1: error: There is no module \"gone\" to import.");
    EXPECT_EQ(error_of("import far; import far;", others),
              "test.eph:1:13: error: The module \"far\" is imported twice.");
    EXPECT_EQ(error_of("fn g() -> int { return far.f(1); }", others),
              "test.eph:1:24: error: The module \"far\" is not imported. Add \"import far;\" at the top.");
    EXPECT_EQ(error_of("import far; fn g() -> int { return far.hidden(); }", others),
              "test.eph:1:36: error: The module \"far\" exports no function \"hidden\".");
    EXPECT_EQ(error_of("import far; fn g() -> int { return far.f(true); }", others),
              "test.eph:1:42: error: This is a bool, where a float is wanted.");
}

}  // namespace
}  // namespace eph
