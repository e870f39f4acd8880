#pragma once

#include "hearth/artifact.hpp"
#include "hearth/tier.hpp"
#include "support/manual_clock.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace hearth::test {

// Entries whose content is a function of their key (and version): whoever finds one can tell whether it is right.

inline Key numbered_key(std::uint64_t number)
{
    return Key::of("test", number);
}

// Bytes that do not compress, different for every key, version and size.
inline Bytes sample_bytes(const Key& key, std::size_t size, std::uint64_t version = 0)
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

inline std::shared_ptr<Artifact> sample_artifact(const Key& key, std::size_t size, std::uint64_t version = 0)
{
    auto artifact = std::make_shared<Artifact>(sample_bytes(key, size, version));
    artifact->cost = std::chrono::milliseconds(100);
    artifact->created = ManualClock::k_start;
    return artifact;
}

inline Entry sample_entry(const Key& key, std::size_t size, std::uint64_t version = 0)
{
    return Entry(sample_artifact(key, size, version));
}

// Whether these are bytes that sample_artifact() made for this key, of whatever size, in one of the first versions.
inline bool is_sample_of(const Artifact& artifact, const Key& key, std::uint64_t versions = 1)
{
    for (std::uint64_t version = 0; version < versions; ++version)
        if (artifact.text() == sample_bytes(key, artifact.bytes().size(), version).text())
            return artifact.sections.size() == 1;
    return false;
}

}  // namespace hearth::test
