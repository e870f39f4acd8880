#include "support/sample_entries.hpp"

#include <algorithm>
#include <cstring>

namespace hearth::test {

Key numbered_key(std::uint64_t number)
{
    return Key::of("test", number);
}

Bytes sample_bytes(const Key& key, std::size_t size, std::uint64_t version)
{
    // SplitMix64: it starts at once, where a larger generator would take longer to set up than to use.
    std::uint64_t state = key.hash() ^ (version * 0xD1B54A32D192ED03U) ^ size;
    return Bytes::make(size, [&](std::span<std::byte> target) {
        for (std::size_t at = 0; at < size; at += sizeof state) {
            state += 0x9E3779B97F4A7C15U;
            std::uint64_t word = (state ^ (state >> 30U)) * 0xBF58476D1CE4E5B9U;
            word = (word ^ (word >> 27U)) * 0x94D049BB133111EBU;
            word ^= word >> 31U;
            std::memcpy(target.data() + at, &word, std::min(sizeof word, size - at));
        }
    });
}

}  // namespace hearth::test
