#pragma once

#include "hearth/key.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace eph {

// A value is the number of the operation that gives it, counted from its function's entry.
using Value = std::uint32_t;
inline constexpr Value k_none = ~Value{0};

enum class Op : std::uint64_t { entry, constant, parameter, add, multiply, call, give_back };

struct Operation {
    Op op = Op::constant;
    Value left = k_none;
    Value right = k_none;
    std::uint64_t number = 0;  // a constant; which parameter; an entry's symbol; a callee's, and once linked its place

    friend auto operator<=>(const Operation&, const Operation&) = default;
};
static_assert(std::has_unique_object_representations_v<Operation>, "it is kept, and compared, as bytes");

// The IR of a module or of a whole program: function behind function, each from its entry to where it gives back.
using Code = std::vector<Operation>;

// What stands for a name in code. A module does not know its own name, so that of part_003.value is its parts' sum.
std::uint64_t symbol(std::string_view name);

// The modules of a program, in the order of their names, with every call led to its place. Throws a Problem when it has
// none.
Code link(const std::map<std::string, hearth::Bytes>& modules);

// What a linked program gives back, or one of its functions. Throws a Problem when that does not end.
using Arguments = std::array<std::uint64_t, 2>;
std::uint64_t run(const Code& program, std::uint64_t entry = 0, const Arguments& arguments = {}, int depth = 0);

}  // namespace eph
