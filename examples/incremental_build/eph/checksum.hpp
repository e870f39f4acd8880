#pragma once

#include "hearth/bytes.hpp"

#include <bit>
#include <cstdint>
#include <cstring>

namespace eph {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

// Eight bytes a step. A step is a bijection of the sum for any word, and of the word for any sum: one altered word
// never goes unseen, and others with a chance of 2^-64. Against accidents, not against forgers.
inline std::uint64_t checksum(hearth::ByteView bytes)
{
    std::uint64_t sum = 0x9e3779b97f4a7c15 ^ bytes.size();
    const auto take = [&](std::uint64_t word) {
        sum = (sum ^ word) * 0xff51afd7ed558ccd;
        sum ^= sum >> 32U;
    };
    for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), sizeof word);
        take(word);
    }
    std::uint64_t rest = 0;
    if (!bytes.empty())
        std::memcpy(&rest, bytes.data(), bytes.size());
    take(rest);
    return sum;
}

}  // namespace eph
