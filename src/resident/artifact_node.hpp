#pragma once

#include "hearth/compiler_kind.hpp"
#include "hearth/miss.hpp"
#include "resident/resident_table.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace hearth::resident {

// An artifact in this process's memory, with all that a hit counts: a lookup does not read the artifact itself.
struct ArtifactNode final : Node {
    ArtifactNode(const Key& key, std::shared_ptr<const Artifact> the_artifact, std::uint32_t beside)
        : Node(key, the_artifact->size(), *the_artifact), cost(the_artifact->cost), artifact(std::move(the_artifact)),
          compiler(compiler_kind_of(artifact->metadata.compiler)), m_beside(beside)
    {
    }

    const Artifact& about() const noexcept override { return *artifact; }
    std::uint64_t beside() const noexcept override { return m_beside; }

    const std::chrono::nanoseconds cost;
    const std::shared_ptr<const Artifact> artifact;
    const CompilerKind compiler;

private:
    const std::uint32_t m_beside;
};
static_assert(sizeof(ArtifactNode) == 128, "a hit reads two neighbouring cache lines");

// A node and the slot that protects it; release it when done. Two words, so that a hit comes back in registers: what is
// written to memory in one size and read back in another costs a hit a quarter of its time.
struct HeldArtifact {
    const ArtifactNode* node = nullptr;
    base::HazardSlot* slot = nullptr;
};

// A tier whose artifacts lie at hand. The engine asks its first tier this way, for hits that nobody waits to be told
// more about than the artifact.
class ArtifactsAtHand {
public:
    virtual ~ArtifactsAtHand() = default;
    // As Tier::find(). `why` is set only on a miss.
    virtual HeldArtifact find_held(const Key& key, Miss& why) = 0;
};

}  // namespace hearth::resident
