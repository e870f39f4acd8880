#include "base/memory_sum.hpp"

#include <array>
#include <cstring>

namespace hearth::base {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t k_stripe = 64;
// Digits of pi, made odd: a word of data that cancels one of them is as unlikely as any other.
constexpr std::array<std::uint64_t, 4> k_keys{0x243f6a8885a308d3, 0x13198a2e03707345, 0xa4093822299f31d1,
                                              0x082efa98ec4e6c89};

std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept
{
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
}

std::uint64_t word(const std::byte* at) noexcept
{
    std::uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
}

struct Lanes {
    std::array<std::uint64_t, 4> lanes = k_keys;

    [[gnu::always_inline]] void add(const std::byte* stripe) noexcept
    {
        lanes[0] = fold(lanes[0] ^ word(stripe), k_keys[0] ^ word(stripe + 8));
        lanes[1] = fold(lanes[1] ^ word(stripe + 16), k_keys[1] ^ word(stripe + 24));
        lanes[2] = fold(lanes[2] ^ word(stripe + 32), k_keys[2] ^ word(stripe + 40));
        lanes[3] = fold(lanes[3] ^ word(stripe + 48), k_keys[3] ^ word(stripe + 56));
    }

    MemorySum end(std::size_t bytes) const noexcept
    {
        const std::uint64_t a = fold(lanes[0] ^ k_keys[1], lanes[1] ^ k_keys[2] ^ bytes);
        const std::uint64_t b = fold(lanes[2] ^ k_keys[3], lanes[3] ^ k_keys[0] ^ bytes);
        return {fold(a ^ k_keys[0], b ^ k_keys[3]), fold(a ^ k_keys[2], b ^ k_keys[1])};
    }
};

enum class Copying : bool { no, yes };

template <Copying copying>
MemorySum sum([[maybe_unused]] std::byte* __restrict to, ByteView bytes) noexcept
{
    const std::byte* __restrict from = bytes.data();
    Lanes lanes;
    std::size_t at = 0;
    for (; at + k_stripe <= bytes.size(); at += k_stripe) {
        lanes.add(from + at);
        if constexpr (copying == Copying::yes)
            std::memcpy(to + at, from + at, k_stripe);
    }
    if (const std::size_t rest = bytes.size() - at; rest != 0) {
        std::array<std::byte, k_stripe> last{};
        std::memcpy(last.data(), from + at, rest);
        lanes.add(last.data());
        if constexpr (copying == Copying::yes)
            std::memcpy(to + at, from + at, rest);
    }
    return lanes.end(bytes.size());
}

}  // namespace

MemorySum sum_of(ByteView bytes) noexcept
{
    return sum<Copying::no>(nullptr, bytes);
}

MemorySum copy_and_sum(std::byte* to, ByteView from) noexcept
{
    return sum<Copying::yes>(to, from);
}

}  // namespace hearth::base
