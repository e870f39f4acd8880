#pragma once

#include "base/error.hpp"
#include "base/hazard.hpp"
#include "resident/resident_store.hpp"
#include "tiers/vram/resident_entry.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hearth::tiers {

// Room in an arena, planned when it is first asked about entries. Those under lease are no help: their bytes stay where
// they are.
class RoomInArena : public resident::Room {
public:
    explicit RoomInArena(const Arena& arena) : m_arena(arena) {}

    bool enough_without(const resident::Node& node) override
    {
        if (!m_plan) {
            m_plan.emplace(plan());
            m_held = base::announced();
        }
        const auto& entry = static_cast<const device::ResidentEntry&>(node);
        const base::Reclaimable* const object = &node;
        return &entry.memory() == &m_arena.memory() &&
               !std::binary_search(m_held.begin(), m_held.end(), object, std::less<>()) && m_plan->free(entry.part());
    }
    bool needs(const resident::Node& node) const override
    {
        return m_plan && m_plan->needs(static_cast<const device::ResidentEntry&>(node).part());
    }

protected:
    virtual Arena::Plan plan() const = 0;

    const Arena& m_arena;
    std::optional<Arena::Plan> m_plan;

private:
    std::vector<const base::Reclaimable*> m_held;
};

// A place for an entry.
class PlaceInArena final : public RoomInArena {
public:
    PlaceInArena(const Arena& arena, std::string tier, std::uint64_t bytes, Arena::Growth growth)
        : RoomInArena(arena), m_tier(std::move(tier)), m_bytes(bytes), m_growth(growth)
    {
    }

    // Asked once: it is for allocate() to notice that another thread took the place meanwhile.
    bool enough() override { return m_enough = m_enough || m_arena.has_place(m_bytes, m_growth); }
    Error refusal() const override
    {
        const Arena::Usage usage = m_arena.usage();
        const bool full = m_growth == Arena::Growth::no;
        return error(
            Code::no_space,
            "Tier \"{}\" has no place for {} bytes on {}: it has taken {} bytes of the device, of which {} are "
            "in use, and what is under lease cannot go. {}",
            m_tier, m_bytes, m_arena.memory().device().name, usage.reserved, usage.allocated,
            full ? "The device gives no more: free some of what else lies there, release leases, or lower the "
                   "entry's size."
                 : "Release leases, lower the entry's size, or raise the tier's capacity.");
    }

private:
    Arena::Plan plan() const override { return {m_arena, m_bytes, m_growth}; }

    const std::string m_tier;
    const std::uint64_t m_bytes;
    const Arena::Growth m_growth;
    bool m_enough = false;
};

// Whole blocks that nothing lies in. Those that are empty already were given back before.
class EmptyBlocks final : public RoomInArena {
public:
    EmptyBlocks(const Arena& arena, std::uint64_t bytes) : RoomInArena(arena), m_bytes(bytes) {}

    bool enough() override { return false; }
    Error refusal() const override
    {
        return error(Code::no_space, "Blocks of {} bytes can be emptied, and not of {}: leases hold the rest.",
                     possible(), m_bytes);
    }
    // So many bytes there can be, once all entries were named.
    std::uint64_t possible() const { return m_plan ? m_plan->empty_bytes() : 0; }

private:
    Arena::Plan plan() const override { return {m_arena, m_bytes}; }

    const std::uint64_t m_bytes;
};

}  // namespace hearth::tiers
