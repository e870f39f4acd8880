#include "base/hex.hpp"

namespace hearth::base {

namespace {

int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

}  // namespace

std::string to_hex(ByteView bytes)
{
    static constexpr char k_digits[] = "0123456789abcdef";
    std::string hex(bytes.size() * 2, '\0');
    std::size_t at = 0;
    for (const std::byte byte : bytes) {
        const auto value = std::to_integer<unsigned>(byte);
        hex[at++] = k_digits[value >> 4U];
        hex[at++] = k_digits[value & 15U];
    }
    return hex;
}

bool from_hex(std::string_view hex, std::span<std::uint8_t> out)
{
    if (hex.size() != out.size() * 2)
        return false;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const int high = digit_value(hex[2 * i]);
        const int low = digit_value(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = static_cast<std::uint8_t>(high * 16 + low);
    }
    return true;
}

}  // namespace hearth::base
