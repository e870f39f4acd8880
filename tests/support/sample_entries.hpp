#pragma once

#include "hearth/artifact.hpp"
#include "hearth/tier.hpp"
#include "support/manual_clock.hpp"

#include <cstdint>
#include <memory>

namespace hearth::test {

// Entries whose content is a function of their key (and version): whoever finds one can tell whether it is right.

Key numbered_key(std::uint64_t number);

// Bytes that do not compress, different for every key, version and size.
Bytes sample_bytes(const Key& key, std::size_t size, std::uint64_t version = 0);

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
