#pragma once

#include "hearth/variants.hpp"

#include <array>
#include <optional>

namespace hearth::cuda {

inline constexpr std::size_t k_most_constants = 16;

// What decides the class of a launch: numbers, compared without building a text. Two launches with other values of a
// constant are never of one class: a variant may have the value compiled in.
struct Shape {
    std::string text{};         // of the program's own function
    std::uint64_t threads = 0;  // the next power of two, if there is no such function
    std::size_t count = 0;
    std::array<std::uint64_t, k_most_constants> values{};  // of the constants, as they lie in memory

    friend bool operator==(const Shape&, const Shape&) = default;
};

// The constants of all variants, each once.
std::vector<Constant> all_constants(const Variants& variants);

// None if an argument that a constant names is missing or is no plain number; or if the program's function throws.
std::optional<Shape> shape_of(const Variants& variants, std::span<const Constant> constants, const LaunchConfig& asked,
                              std::span<const Argument> arguments);

// "threads<=1048576 N=4096", as people and entries have it.
std::string describe(const Shape& shape, std::span<const Constant> constants, std::span<const Argument> arguments);

// "-DN=4096": in C++'s own spelling, exact for floating point.
std::string define(const Constant& constant, const Argument& argument);

}  // namespace hearth::cuda
