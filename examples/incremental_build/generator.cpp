#include "generator.hpp"

#include <fmt/format.h>

namespace eph {

namespace {

constexpr std::uint32_t k_layer = 40;  // modules
constexpr std::uint32_t k_steps = 10;  // each inlines the one before it twice

std::string part(std::uint32_t number)
{
    return fmt::format("part_{:03}", number);
}

std::string source_of(std::uint32_t number)
{
    std::string imports;
    std::string steps;
    for (std::uint32_t step = 1; step <= k_steps; ++step)
        steps += fmt::format("step_{0} x = x step_{1} {0} * x 1 + step_{1} +\n", step, step - 1);
    std::string result = fmt::format("x step_{}", k_steps);
    for (const std::uint32_t other : {number, number + 7}) {
        if (number < k_layer)
            break;
        const std::string below = part((number / k_layer - 1) * k_layer + other % k_layer);
        imports += fmt::format("import {}\n", below);
        result += fmt::format(" x {0}.salt + {0}.value +", below);
    }
    return fmt::format("{}{}{}\n{}{} +\n{}export value x = {}\n", imports, k_interface, number, k_body, number, steps,
                       result);
}

}  // namespace

std::map<std::string, std::string> generate(std::uint32_t modules)
{
    std::map<std::string, std::string> sources;
    std::string imports;
    std::string result = "0";
    for (std::uint32_t number = 0; number < modules - 1; ++number) {
        sources[part(number)] = source_of(number);
        if (number / k_layer == (modules - 2) / k_layer) {
            imports += fmt::format("import {}\n", part(number));
            result += fmt::format(" {} {}.value +", number, part(number));
        }
    }
    sources["main"] = fmt::format("{}export main = {}\n", imports, result);
    return sources;
}

std::string edited(std::string source, std::string_view behind, std::uint64_t number)
{
    const std::size_t start = source.find(behind) + behind.size();
    return source.replace(start, source.find_first_not_of("0123456789", start) - start, std::to_string(number));
}

}  // namespace eph
