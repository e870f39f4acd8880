#pragma once

#include "hearth/artifact.hpp"
#include "hearth/bytes.hpp"
#include "hearth/compiler_kind.hpp"
#include "hearth/key.hpp"
#include "hearth/lease.hpp"
#include "hearth/miss.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hearth {

// An artifact on its way between tiers, with its encoded bytes if an earlier tier had them. Each tier takes the form it
// keeps. Thread safety: as an int.
class Entry {
public:
    explicit Entry(std::shared_ptr<const Artifact> artifact, Bytes encoded = {})
        : m_artifact(std::move(artifact)), m_encoded(std::move(encoded))
    {
    }
    const std::shared_ptr<const Artifact>& artifact() const noexcept { return m_artifact; }
    // The bytes an earlier tier held, or empty when nobody has encoded it yet.
    const Bytes& encoded() const noexcept { return m_encoded; }

private:
    std::shared_ptr<const Artifact> m_artifact;
    Bytes m_encoded;
};

// What a tier's lookup gives: an artifact under lease, or the reason for the miss.
struct Found {
    ArtifactLease artifact;
    // The entry's bytes, if the tier has them at hand and a slower tier may want them.
    std::unique_ptr<const Bytes> encoded;
    std::uint32_t uses = 0;   // how many hits this process has had on it here, this one included
    std::uint64_t bytes = 0;  // what the entry takes of this tier's budget
    // The artifact's own, here so that a hit need not read the artifact.
    std::chrono::nanoseconds cost{0};
    CompilerKind compiler = CompilerKind::other;
    Miss why = Miss::absent;  // meaningful only without an artifact

    explicit operator bool() const noexcept { return static_cast<bool>(artifact); }
    // On its way to another tier.
    Entry as_entry() const { return Entry(artifact.share(), encoded ? *encoded : Bytes{}); }
    static Found miss(Miss reason)
    {
        Found found;
        found.why = reason;
        return found;
    }
};

enum class EvictionCause : std::uint8_t { capacity, age, limit_lowered };

// An entry a tier has just evicted. `entry` is filled if the tier was asked to keep it for demotion.
struct Victim {
    Key key;
    std::uint64_t bytes = 0;
    double cost = 0;
    EvictionCause cause = EvictionCause::capacity;
    std::optional<Entry> entry;
};

enum class Victims : std::uint8_t { discard, keep };

// What is known of one entry at rest; what `hearth ls` prints.
struct EntryRow {
    Key key;
    Metadata metadata;
    std::uint64_t bytes = 0;         // of the artifact
    std::uint64_t stored_bytes = 0;  // of the tier's budget
    WallTime created{};
    WallTime last_used{};  // empty when never
    std::uint32_t uses = 0;
    std::chrono::nanoseconds cost{0};
    std::int32_t status = 0;
    std::string tier;
    std::string compiler_build;  // exactly which compiler, as its request says; empty if that names none
};

// How often an entry was used, without what it is.
struct EntryUse {
    Key key;
    std::uint32_t uses = 0;
    WallTime last_used{};  // empty when never
    WallTime created{};    // empty if that is not known without reading the entry
};

}  // namespace hearth
