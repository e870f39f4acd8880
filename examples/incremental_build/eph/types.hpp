#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace eph {

// The values are part of the encoded IR.
enum class Type : std::uint8_t {
    integer = 0,  // 64 bits, wraps around
    real = 1,     // IEEE 754, 64 bits
    boolean = 2,
};
inline constexpr std::uint8_t k_types = 3;

// As sources spell it: int, float, bool.
std::string_view to_string(Type type);

struct Signature {
    std::vector<Type> parameters;
    Type result = Type::integer;

    friend bool operator==(const Signature&, const Signature&) = default;
};
// (int, float) -> bool
std::string to_string(const Signature& signature);

}  // namespace eph
