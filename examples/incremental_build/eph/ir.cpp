#include "ir.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace eph {

namespace {

std::uint64_t integer_result(Op op, std::uint64_t a, std::uint64_t b)
{
    // Unsigned arithmetic wraps around, which is what an int does; only order and division look at the sign.
    const auto x = static_cast<std::int64_t>(a);
    const auto y = static_cast<std::int64_t>(b);
    switch (op) {
    case Op::add:
        return a + b;
    case Op::subtract:
        return a - b;
    case Op::multiply:
        return a * b;
    case Op::divide:
        // x / -1 overflows for the least int: its negation, which wraps, does not.
        return y == 0 ? 0 : y == -1 ? 0 - a : static_cast<std::uint64_t>(x / y);
    case Op::remainder:
        return y == 0 || y == -1 ? 0 : static_cast<std::uint64_t>(x % y);
    case Op::equal:
        return a == b ? 1 : 0;
    case Op::not_equal:
        return a != b ? 1 : 0;
    case Op::less:
        return x < y ? 1 : 0;
    case Op::less_equal:
        return x <= y ? 1 : 0;
    case Op::to_real:
        return std::bit_cast<std::uint64_t>(static_cast<double>(x));
    default:
        return 0;
    }
}

// The nearest int; 0 for what is no number. A plain cast would be undefined outside of int's range.
std::uint64_t saturated(double value)
{
    constexpr double k_limit = 9223372036854775808.0;
    if (std::isnan(value))
        return 0;
    if (value >= k_limit)
        return std::numeric_limits<std::int64_t>::max();
    if (value < -k_limit)
        return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::min());
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

std::uint64_t real_result(Op op, std::uint64_t a, std::uint64_t b)
{
    const auto x = std::bit_cast<double>(a);
    const auto y = std::bit_cast<double>(b);
    // IEEE 754 leaves the payload of a NaN to the processor; IR must be the same bytes everywhere.
    const auto canonical = [](double value) {
        return std::isnan(value) ? std::uint64_t{0x7ff8000000000000} : std::bit_cast<std::uint64_t>(value);
    };
    switch (op) {
    case Op::add:
        return canonical(x + y);
    case Op::subtract:
        return canonical(x - y);
    case Op::multiply:
        return canonical(x * y);
    case Op::divide:
        return canonical(x / y);
    case Op::equal:
        return x == y ? 1 : 0;
    case Op::not_equal:
        return x != y ? 1 : 0;
    case Op::less:
        return x < y ? 1 : 0;
    case Op::less_equal:
        return x <= y ? 1 : 0;
    case Op::to_integer:
        return saturated(x);
    default:
        return 0;
    }
}

}  // namespace

unsigned operands_of(Op op)
{
    switch (op) {
    case Op::parameter:
    case Op::constant:
    case Op::call:
        return 0;
    case Op::invert:
    case Op::to_real:
    case Op::to_integer:
        return 1;
    default:
        return 2;
    }
}

bool is_comparison(Op op)
{
    return op >= Op::equal && op <= Op::less_equal;
}

bool is_commutative(Op op)
{
    return op == Op::add || op == Op::multiply || op == Op::equal || op == Op::not_equal;
}

std::uint64_t evaluate(Op op, Type type, std::uint64_t a, std::uint64_t b)
{
    if (op == Op::invert)
        return a ^ 1U;
    return type == Type::real ? real_result(op, a, b) : integer_result(op, a, b);
}

}  // namespace eph
