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
// Thread safety: one thread at a time uses a lease; it may be moved to another thread.
// Ownership: move-only; share() gives a copyable owner, for callers that need the artifact for long.
// Cost: taking and dropping one writes only memory that belongs to the calling thread.
class ArtifactLease {
public:
    ArtifactLease() = default;
    explicit ArtifactLease(std::shared_ptr<const Artifact> owner)
        : m_owner(owner ? new std::shared_ptr<const Artifact>(std::move(owner)) : nullptr)
    {
    }
    // For tiers: the slot protects the object that `owner` is a part of.
    ArtifactLease(base::HazardSlot* slot, const std::shared_ptr<const Artifact>& owner) noexcept
        : m_owner(&owner), m_slot(slot)
    {
    }

    ArtifactLease(ArtifactLease&& other) noexcept
        : m_owner(std::exchange(other.m_owner, nullptr)), m_slot(std::exchange(other.m_slot, nullptr))
    {
    }
    ArtifactLease& operator=(ArtifactLease&& other) noexcept
    {
        ArtifactLease held(std::move(other));  // so that `other` holds nothing, and what this one held is let go now
        std::swap(m_owner, held.m_owner);
        std::swap(m_slot, held.m_slot);
        return *this;
    }
    ArtifactLease(const ArtifactLease&) = delete;
    ArtifactLease& operator=(const ArtifactLease&) = delete;
    ~ArtifactLease()
    {
        if (m_slot)
            release(m_slot);
        else
            delete m_owner;
    }

    explicit operator bool() const noexcept { return m_owner != nullptr; }
    const Artifact& operator*() const noexcept { return **m_owner; }
    const Artifact* operator->() const noexcept { return m_owner->get(); }
    const Artifact* get() const noexcept { return m_owner ? m_owner->get() : nullptr; }

    // An owner of the same artifact that can be copied and kept. Costs a shared count: not for a hot path.
    std::shared_ptr<const Artifact> share() const { return m_owner ? *m_owner : nullptr; }

private:
    HEARTH_API static void release(base::HazardSlot* slot) noexcept;

    // Two words, so that a hit is cheap to hand on. With a slot, the artifact's owner lies in the tier and m_slot
    // protects it there; without one, the owner lies on the heap and is ours.
    const std::shared_ptr<const Artifact>* m_owner = nullptr;
    base::HazardSlot* m_slot = nullptr;
};

}  // namespace hearth
