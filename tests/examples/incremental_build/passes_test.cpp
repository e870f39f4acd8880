#include "eph_test.hpp"
#include "generator.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

namespace eph {
namespace {

std::size_t count(const Function& function, Op op)
{
    std::size_t found = 0;
    for (const Block& block : function.blocks)
        for (const Value value : block.body)
            found += function.values[value].op == op ? 1 : 0;
    return found;
}

std::size_t size_of(const Function& function)
{
    std::size_t size = 0;
    for (const Block& block : function.blocks)
        size += block.body.size();
    return size;
}

TEST(Passes, constants_are_folded_and_branches_on_them_decided)
{
    const Module module = test::optimised("export fn f() -> int { let a = 6; if a * 7 == 42 && !false { a = a + 1; } "
                                          "else { a = a - 1; } return a; }");
    ASSERT_EQ(module.functions.size(), 1U);
    const Function& function = module.functions[0];
    EXPECT_EQ(function.blocks.size(), 1U);
    ASSERT_EQ(size_of(function), 1U);
    EXPECT_EQ(function.values[function.blocks[0].value].bits, 7U);
}

TEST(Passes, a_variable_that_a_loop_leaves_as_it_is_is_no_parameter_of_it)
{
    const Module module = test::optimised("export fn f(n: int) -> int { let a = 3; let i = 0; "
                                          "while i < n { a = a * 1; i = i + 1; } return a; }");
    EXPECT_EQ(module.functions[0].blocks[1].parameters.size(), 1U) << "only the counter changes";
}

TEST(Passes, equal_values_are_computed_once)
{
    const Module module = test::optimised("export fn f(a: int, b: int) -> int { let x = a * b + 1; let y = 1 + b * a; "
                                          "if x > 3 { return a * b; } return x + y; }");
    EXPECT_EQ(count(module.functions[0], Op::multiply), 1U);
}

TEST(Passes, values_of_one_branch_are_not_used_in_the_other)
{
    const Module module = test::optimised("export fn f(a: int, b: int) -> int { if a < b { return a * b; } "
                                          "return a * b + 1; }");
    EXPECT_EQ(count(module.functions[0], Op::multiply), 2U);
}

TEST(Passes, what_stays_the_same_leaves_the_loop)
{
    const Module module = test::optimised("export fn f(a: int, n: int) -> int { let s = 0; let i = 0; "
                                          "while i < n { s = s + a * a * 7; i = i + 1; } return s; }");
    const Function& function = module.functions[0];
    std::size_t in_front = 0;
    for (const Value value : function.blocks[0].body)
        in_front += function.values[value].op == Op::multiply ? 1 : 0;
    EXPECT_EQ(in_front, 2U);
    EXPECT_EQ(count(function, Op::multiply), 2U);
}

TEST(Passes, what_nobody_uses_is_dropped_but_calls_stay)
{
    const test::Modules others{{"far", "export fn f() -> int { return 1; }"}};
    const auto known = test::outlines_of(others);
    const std::string source = "import far; export fn g(a: int) -> int { let x = a * a + far.f(); let y = x + 1; "
                               "let i = 0; while i < 3 { y = y * 2; i = i + 1; } return a; }";
    Module module = test::lowered(source, test::imports_of(source, known));
    optimise(module);
    EXPECT_EQ(count(module.functions[0], Op::multiply), 0U);
    EXPECT_EQ(count(module.functions[0], Op::call), 1U);
}

TEST(Passes, small_functions_take_the_place_of_calls_and_go_when_nobody_needs_them)
{
    const Module module = test::optimised(
        "fn least(a: int, b: int) -> int { if a < b { return a; } return b; }\n"
        "fn clamp(a: int) -> int { return least(least(a, 100), 50); }\n"
        "export fn f(a: int) -> int { let i = 0; while clamp(a) > i { i = i + least(3, 4); } return i; }\n"
        "export fn again(n: int) -> int { if n == 0 { return 0; } return again(n - 1); }");
    ASSERT_EQ(module.functions.size(), 2U);
    EXPECT_EQ(module.functions[0].name, "f");
    EXPECT_EQ(count(module.functions[0], Op::call), 0U);
    EXPECT_EQ(count(module.functions[1], Op::call), 1U) << "a recursive function is never put into itself";
    ASSERT_EQ(module.callees.size(), 1U);
    EXPECT_EQ(module.callees[0].name, "again");
}

// Whole random programs, with loops, calls and all operators: they must do the same before and after.
TEST(Passes, optimised_programs_compute_what_they_did)
{
    const std::uint64_t first = hearth::test::seed();
    for (std::uint64_t seed = first; seed < first + hearth::test::scaled(20); ++seed) {
        test::Modules modules;
        for (const auto& [file, source] : demo::generate({.modules = 12, .seed = seed}))
            modules[file.substr(0, file.rfind('.'))] = source;
        const auto known = test::outlines_of(modules);
        std::vector<LinkedModule> plain;
        for (const auto& [name, source] : modules)
            plain.push_back({name, test::lowered(source, test::imports_of(source, known))});
        const std::int64_t wanted = Program::link(std::move(plain)).value().run().value();
        ASSERT_EQ(test::run(modules).value(), wanted) << "seed " << seed;
    }
}

}  // namespace
}  // namespace eph
