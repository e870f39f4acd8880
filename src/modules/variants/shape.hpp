#pragma once

#include "hearth/variants.hpp"

#include <array>
#include <optional>

namespace hearth::cuda {

inline constexpr std::size_t k_most_constants = 16;

// What decides the class of a launch: numbers, compared without building a text. Two launches with other values of a
// constant are never of one class: a variant may have the value compiled in.
struct Shape {
    std::string text{};                                    // of the program's own function
    std::uint64_t threads = 0;                             // the next power of two, if there is no such function
    std::array<std::uint64_t, k_most_constants> values{};  // of the constants, as they lie in memory
    std::uint32_t missing = 0;  // a bit for each constant whose argument is not there or is no plain number

    bool misses(std::size_t constant) const noexcept { return (missing >> constant & 1U) != 0; }
    friend bool operator==(const Shape&, const Shape&) = default;
};

// The constants of all variants, each once; k_most_constants of them.
std::vector<Constant> all_constants(const Variants& variants);

// None if the program's function throws, or the launch has no threads.
std::optional<Shape> shape_of(const Variants& variants, std::span<const Constant> constants, const LaunchConfig& asked,
                              std::span<const Argument> arguments);

// Which of `constants` it is; their number if it is none.
std::size_t place_of(const Constant& constant, std::span<const Constant> constants);

// "threads<=1048576 N=4096", as people and entries have it.
std::string describe(const Shape& shape, std::span<const Constant> constants, std::span<const Argument> arguments);

// "-DN=4096": in C++'s own spelling, exact for floating point. Not for one that is missing.
std::string define(const Constant& constant, const Argument& argument);

}  // namespace hearth::cuda
