#pragma once

#include "hearth/artifact.hpp"
#include "hearth/lease.hpp"
#include "hearth/miss.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace hearth {

enum class CompiledBy : std::uint8_t {
    nobody,     // a tier had it
    this_call,  // this very call compiled it
    another,    // another thread, process or node, whom this call waited for
};

// A hit with its artifact under lease, or a miss with its reason.
class [[nodiscard]] Lookup {
public:
    Lookup() = default;
    explicit Lookup(Miss why) : m_why(why) {}
    Lookup(ArtifactLease artifact, const std::string* tier, const std::string* promoted_to = nullptr)
        : m_artifact(std::move(artifact)), m_tier(tier), m_promoted_to(promoted_to)
    {
    }
    Lookup(ArtifactLease artifact, CompiledBy by, Miss why) : m_artifact(std::move(artifact)), m_why(why), m_by(by) {}

    bool hit() const noexcept { return static_cast<bool>(m_artifact); }
    explicit operator bool() const noexcept { return hit(); }
    const Artifact& operator*() const noexcept { return *m_artifact; }
    const Artifact* operator->() const noexcept { return m_artifact.get(); }
    const ArtifactLease& lease() const noexcept { return m_artifact; }
    std::shared_ptr<const Artifact> share() const { return m_artifact.share(); }

    // Why it missed, also if it was then compiled.
    Miss why() const noexcept { return m_why; }
    // The tier that had it, empty when it was compiled; valid while the Cache is open.
    std::string_view tier() const noexcept { return m_tier ? std::string_view(*m_tier) : std::string_view{}; }
    bool compiled() const noexcept { return m_by != CompiledBy::nobody; }
    // Another compiled it, and this lookup only waited.
    bool waited() const noexcept { return m_by == CompiledBy::another; }
    // The tier this very lookup moved the entry up into; empty when it stayed where it was.
    std::string_view promoted_to() const noexcept
    {
        return m_promoted_to ? std::string_view(*m_promoted_to) : std::string_view{};
    }

private:
    ArtifactLease m_artifact;
    const std::string* m_tier = nullptr;
    const std::string* m_promoted_to = nullptr;
    Miss m_why = Miss::absent;
    CompiledBy m_by = CompiledBy::nobody;
};

}  // namespace hearth
