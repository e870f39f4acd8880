// 54: which launches are compared with each other, and what is compiled in.

#include "modules/variants/shape.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

namespace hearth::test {

namespace {

using namespace hearth::cuda;

template <class... Values>
std::optional<Shape> shape(const Variants& variants, const LaunchConfig& asked, const Values&... values)
{
    return shape_of(variants, all_constants(variants), asked, cuda::detail::arguments(values...));
}

template <class Value>
std::string defined(Constant::Type type, Value value)
{
    return define({"X", 0, type}, {&value, sizeof value});
}

}  // namespace

TEST(VariantShape, launches_of_about_the_same_size_are_one_class)
{
    const Variants variants{.others = {{.name = "other"}}};
    EXPECT_EQ(shape(variants, {.grid = 1000, .block = 256}), shape(variants, {.grid = 700, .block = 256}));
    EXPECT_EQ(shape(variants, {.grid = 1000, .block = 256}), shape(variants, {.grid = 500, .block = 512}));
    EXPECT_NE(shape(variants, {.grid = 1000, .block = 256}), shape(variants, {.grid = 100, .block = 256}));
}

TEST(VariantShape, another_value_of_a_constant_is_another_class_though_only_one_bit_differs)
{
    const Variants variants{.others = {specialise({{"N", 1}})}};
    const float* pointer = nullptr;
    EXPECT_EQ(shape(variants, {}, pointer, 7), shape(variants, {}, pointer, 7));
    EXPECT_NE(shape(variants, {}, pointer, 7), shape(variants, {}, pointer, 6));
    EXPECT_NE(shape(variants, {}, pointer, 7), shape(variants, {}, pointer, 7 - (1 << 30)));
}

TEST(VariantShape, a_constant_without_a_number_is_missed_and_the_others_are_not)
{
    const Variants variants{.others = {specialise({{"N", 1}}), specialise({{"M", 0}}, "m")}};
    EXPECT_EQ(shape(variants, {}, 7, 8)->missing, 0U);
    EXPECT_TRUE(shape(variants, {}, 7)->misses(0)) << "there is no argument 1";
    EXPECT_FALSE(shape(variants, {}, 7)->misses(1));
    EXPECT_TRUE(shape(variants, {}, 7, std::array<int, 3>{})->misses(0)) << "that is no number";
    EXPECT_NE(shape(variants, {}, 7), shape(variants, {}, 7, 0)) << "0 is a value";
}

TEST(VariantShape, there_are_so_many_constants_and_no_more)
{
    std::vector<Constant> many;
    for (std::size_t i = 0; i < k_most_constants + 3; ++i)
        many.push_back({"N" + std::to_string(i), i});
    EXPECT_EQ(all_constants({.others = {specialise(many)}}).size(), k_most_constants);
}

TEST(VariantShape, the_programs_own_function_decides_and_may_fail)
{
    Variants variants{.others = {{.name = "other"}}};
    variants.shape_class = [](const LaunchConfig& asked, std::span<const Argument>) {
        return asked.grid.x > 10 ? "large" : "small";
    };
    EXPECT_EQ(shape(variants, {.grid = 11}), shape(variants, {.grid = 1000}));
    EXPECT_NE(shape(variants, {.grid = 11}), shape(variants, {.grid = 10}));
    variants.shape_class = [](const LaunchConfig&, std::span<const Argument>) -> std::string {
        throw std::runtime_error("no class");
    };
    EXPECT_EQ(shape(variants, {.grid = 11}), std::nullopt);
}

TEST(VariantShape, constants_are_spelt_so_that_the_compiler_reads_the_same_value)
{
    using Type = Constant::Type;
    EXPECT_EQ(defined(Type::integer, 4096), "-DX=4096");
    EXPECT_EQ(defined(Type::integer, -1), "-DX=(-1)");
    EXPECT_EQ(defined(Type::integer, std::int64_t{1} << 40U), "-DX=1099511627776ll");
    EXPECT_EQ(defined(Type::integer, std::numeric_limits<std::int64_t>::min()), "-DX=(-9223372036854775807ll-1)");
    EXPECT_EQ(defined(Type::integer, std::numeric_limits<int>::min()), "-DX=(-2147483647-1)");
    EXPECT_EQ(defined(Type::natural, std::uint8_t{255}), "-DX=255");
    EXPECT_EQ(defined(Type::natural, std::uint16_t{65535}), "-DX=65535");
    EXPECT_EQ(defined(Type::natural, 0xffffffffU), "-DX=4294967295u");
    EXPECT_EQ(defined(Type::natural, ~std::uint64_t{0}), "-DX=18446744073709551615ull");
    EXPECT_EQ(defined(Type::integer, static_cast<signed char>(-3)), "-DX=(-3)");
    EXPECT_EQ(defined(Type::real, 1.5F), "-DX=0x1.8p+0f");
    EXPECT_EQ(defined(Type::real, 0.1), "-DX=0x1.999999999999ap-4");
}

TEST(VariantShape, people_read_the_class_of_a_launch)
{
    const Variants variants{.others = {specialise({{"N", 0}, {"STRIDE", 1}})}};
    const int n = 4096;
    const int stride = 2;
    const Shape launched = shape(variants, {.grid = 100, .block = 256}, n, stride).value();
    EXPECT_EQ(describe(launched, all_constants(variants), cuda::detail::arguments(n, stride)),
              "threads<=32768 N=4096 STRIDE=2");
}

}  // namespace hearth::test
