#pragma once

#include "hearth/api.hpp"
#include "hearth/artifact.hpp"

#include <memory>
#include <utility>

namespace hearth {

namespace base {
struct HazardSlot;
}

// Keeps an artifact alive while it is used: eviction takes it out of its tier, never out of a holder's hands.
// Thread safety: one thread at a time a lease; it may be moved to another thread.
// Ownership: move-only; share() gives a copyable owner where one is needed for long.
// Cost: taking and dropping one writes only memory that belongs to the calling thread.
class ArtifactLease {
public:
    ArtifactLease() = default;
    explicit ArtifactLease(std::shared_ptr<const Artifact> owner) noexcept
        : m_artifact(owner.get()), m_owner(std::move(owner))
    {
    }
    // For tiers: the slot protects the object that owns `artifact` and `owner`.
    ArtifactLease(base::HazardSlot* slot, const std::shared_ptr<const Artifact>& owner) noexcept
        : m_artifact(owner.get()), m_slot(slot), m_resident(&owner)
    {
    }

    ArtifactLease(ArtifactLease&& other) noexcept
        : m_artifact(std::exchange(other.m_artifact, nullptr)), m_slot(std::exchange(other.m_slot, nullptr)),
          m_resident(other.m_resident), m_owner(std::move(other.m_owner))
    {
    }
    ArtifactLease& operator=(ArtifactLease&& other) noexcept
    {
        if (this != &other) {
            drop();
            m_artifact = std::exchange(other.m_artifact, nullptr);
            m_slot = std::exchange(other.m_slot, nullptr);
            m_resident = other.m_resident;
            m_owner = std::move(other.m_owner);
        }
        return *this;
    }
    ArtifactLease(const ArtifactLease&) = delete;
    ArtifactLease& operator=(const ArtifactLease&) = delete;
    ~ArtifactLease() { drop(); }

    explicit operator bool() const noexcept { return m_artifact != nullptr; }
    const Artifact& operator*() const noexcept { return *m_artifact; }
    const Artifact* operator->() const noexcept { return m_artifact; }
    const Artifact* get() const noexcept { return m_artifact; }

    // An owner of the same artifact that can be copied and kept. Costs a shared count: not for a hot path.
    std::shared_ptr<const Artifact> share() const { return m_slot ? *m_resident : m_owner; }

private:
    void drop() noexcept
    {
        if (m_slot)
            release(m_slot);
        m_slot = nullptr;
        m_artifact = nullptr;
    }
    HEARTH_API static void release(base::HazardSlot* slot) noexcept;

    const Artifact* m_artifact = nullptr;
    base::HazardSlot* m_slot = nullptr;
    const std::shared_ptr<const Artifact>* m_resident = nullptr;  // valid while m_slot protects it
    std::shared_ptr<const Artifact> m_owner;
};

}  // namespace hearth
