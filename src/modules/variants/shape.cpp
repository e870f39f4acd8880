#include "modules/variants/shape.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace hearth::cuda {

namespace {

bool is_number(const Constant& constant, const Argument& argument)
{
    if (constant.type == Constant::Type::real)
        return argument.size == sizeof(float) || argument.size == sizeof(double);
    return argument.size == 1 || argument.size == 2 || argument.size == 4 || argument.size == 8;
}

std::uint64_t bits_of(const Argument& argument)
{
    std::uint64_t bits = 0;
    std::memcpy(&bits, argument.value, argument.size);
    return bits;
}

std::string value_of(const Constant& constant, const Argument& argument)
{
    const std::uint64_t bits = bits_of(argument);
    switch (constant.type) {
    case Constant::Type::natural:
        // Smaller ones are an int where they are used, as by the language's promotions.
        return fmt::format("{}{}", bits, argument.size == 8 ? "ull" : argument.size == 4 ? "u" : "");
    case Constant::Type::real:
        if (argument.size == sizeof(float))
            return fmt::format("{:a}f", std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        return fmt::format("{:a}", std::bit_cast<double>(bits));
    case Constant::Type::integer:
        break;
    }
    const auto unused = static_cast<unsigned>(64 - 8 * argument.size);
    const std::int64_t value = static_cast<std::int64_t>(bits << unused) >> unused;
    // The lowest number has no spelling of its own: a minus, and then a number that is too large.
    if (value == INT64_MIN)
        return "(-9223372036854775807ll-1)";
    if (value == INT32_MIN && argument.size == 4)
        return "(-2147483647-1)";
    const char* const suffix = argument.size == 8 ? "ll" : "";
    return value < 0 ? fmt::format("({}{})", value, suffix) : fmt::format("{}{}", value, suffix);
}

}  // namespace

std::size_t place_of(const Constant& constant, std::span<const Constant> constants)
{
    const auto found = std::ranges::find_if(constants, [&](const Constant& other) {
        return other.argument == constant.argument && other.macro == constant.macro && other.type == constant.type;
    });
    return static_cast<std::size_t>(found - constants.begin());
}

std::vector<Constant> all_constants(const Variants& variants)
{
    std::vector<Constant> all;
    for (const Variant& variant : variants.others)
        for (const Constant& constant : variant.constants)
            if (all.size() < k_most_constants && place_of(constant, all) == all.size())
                all.push_back(constant);
    return all;
}

std::optional<Shape> shape_of(const Variants& variants, std::span<const Constant> constants, const LaunchConfig& asked,
                              std::span<const Argument> arguments)
{
    Shape shape;
    if (variants.shape_class) {
        try {
            shape.text = variants.shape_class(asked, arguments);
        } catch (...) {
            return std::nullopt;
        }
    } else {
        double threads = 1;
        for (const Extent& extent : {asked.grid, asked.block})
            threads *= static_cast<double>(extent.x) * static_cast<double>(extent.y) * static_cast<double>(extent.z);
        constexpr double k_most_counted = 0x1p62;
        if (threads < 1 || threads > k_most_counted)
            return std::nullopt;  // the launch will be refused
        shape.threads = std::bit_ceil(static_cast<std::uint64_t>(threads));
    }
    for (std::size_t i = 0; i < constants.size(); ++i) {
        if (constants[i].argument < arguments.size() && is_number(constants[i], arguments[constants[i].argument]))
            shape.values[i] = bits_of(arguments[constants[i].argument]);
        else
            shape.missing |= 1U << i;
    }
    return shape;
}

std::string describe(const Shape& shape, std::span<const Constant> constants, std::span<const Argument> arguments)
{
    std::string text = shape.threads > 0 ? fmt::format("threads<={}", shape.threads) : shape.text;
    for (std::size_t i = 0; i < constants.size(); ++i)
        if (!shape.misses(i))
            text += fmt::format(" {}={}", constants[i].macro, value_of(constants[i], arguments[constants[i].argument]));
    return text;
}

std::string define(const Constant& constant, const Argument& argument)
{
    return fmt::format("-D{}={}", constant.macro, value_of(constant, argument));
}

}  // namespace hearth::cuda
