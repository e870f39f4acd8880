#pragma once

#include "base/fork.hpp"
#include "gpu/device_memory.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace hearth::tiers {

// Device memory taken in few large blocks and handed out in small parts.
// A part comes from the smallest gap it fits in (best fit), and gaps that touch become one. Empty blocks are given back
// when room for a larger one is needed, by trim(), and at the end.
// Thread safety: all of it. The one lock is never held during a call to the device, since a lease may end anywhere, and
// needs the lock.
class Arena {
public:
    // Takes at most `max_bytes` from the device, and a little more for alignment; 0: no limit.
    Arena(std::shared_ptr<gpu::DeviceMemory> memory, std::uint64_t max_bytes);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    gpu::DeviceMemory& memory() const noexcept { return *m_memory; }

    // Whether it may take more from the device. By no it was tried, and the device has no more.
    enum class Growth : std::uint8_t { no, yes };
    // Whether there is a place for so many bytes already. With Growth::yes: as far as is known without asking.
    bool has_place(std::uint64_t bytes, Growth growth) const;

    // Finds a place that is there once some parts are freed: a stretch of one block, or whole blocks that are given
    // back for a new one. A copy of the arena's gaps: nothing is changed, and what others do meanwhile is not seen.
    // Thread safety: one thread.
    class Plan {
    public:
        Plan(const Arena& arena, std::uint64_t bytes, Growth growth);
        // For no place: for whole blocks of so many bytes together, to be given back to the device.
        Plan(const Arena& arena, std::uint64_t bytes);
        // Whether there is a place once this part is freed too.
        bool free(const gpu::DevicePart& part);
        // Once there is one: whether this part has to be freed for it.
        bool needs(const gpu::DevicePart& part) const;
        // Bytes of the blocks in which nothing lies by then.
        std::uint64_t empty_bytes() const noexcept { return m_empty; }

    private:
        using BlockId = std::pair<std::uint64_t, void*>;  // its address and buffer
        struct PlannedBlock {
            std::uint64_t bytes = 0;
            std::uint64_t used = 0;
            std::map<std::uint64_t, std::uint64_t> gaps;   // offset to size
            std::map<std::uint64_t, std::uint64_t> freed;  // by this plan
        };
        static BlockId id_of(const gpu::DeviceBlock& block) { return {block.address, block.buffer}; }
        void copy_blocks();
        void put_back(PlannedBlock& block, std::uint64_t offset, std::uint64_t size);
        std::uint64_t best_start(const PlannedBlock& block, std::uint64_t gap, std::uint64_t gap_size) const;

        const Arena& m_arena;
        const std::uint64_t m_size;
        std::map<BlockId, PlannedBlock> m_blocks;
        std::uint64_t m_lacking = 0;  // so many bytes of blocks have to be given back for a new one
        std::uint64_t m_empty = 0;    // so many would be
        bool m_whole_blocks = false;  // the place is a new block's
        BlockId m_block{};            // or in this one, from m_start on
        std::uint64_t m_start = 0;
    };

    // Code::no_space if neither a gap nor the device has room.
    Result<gpu::DevicePart> allocate(std::uint64_t bytes);
    void free(const gpu::DevicePart& part) noexcept;
    void set_max_bytes(std::uint64_t max_bytes);
    // Waits until what was freed under the present guards can be handed out again. False if there is nothing like that.
    bool wait_for_readers();
    // Gives empty blocks back to the device. Returns their bytes.
    std::uint64_t trim() noexcept;

    // While one exists, freed parts are not handed out again. For reading many parts without holding each.
    class ReadGuard {
    public:
        explicit ReadGuard(Arena& arena);
        ~ReadGuard();
        ReadGuard(const ReadGuard&) = delete;
        ReadGuard& operator=(const ReadGuard&) = delete;

    private:
        Arena& m_arena;
        std::uint64_t m_since;
    };

    struct Usage {
        std::uint64_t reserved = 0;   // taken from the device
        std::uint64_t allocated = 0;  // handed out, alignment included
    };
    Usage usage() const;

    // Bytes of all entries in this arena, including those that the tier no longer has.
    std::atomic<std::uint64_t> entry_bytes{0};

private:
    struct Block {
        gpu::DeviceBlock device;
        std::map<std::uint64_t, std::uint64_t> gaps;  // offset to size
        std::uint64_t used = 0;
    };
    // Sorted by size, so that the first gap that is large enough is the best one.
    struct Gap {
        std::uint64_t bytes;
        Block* block;
        std::uint64_t offset;
        friend auto operator<=>(const Gap&, const Gap&) = default;
    };

    std::uint64_t rounded(std::uint64_t bytes) const noexcept;
    std::uint64_t most() const noexcept;
    void put_back(const gpu::DevicePart& part) noexcept;
    void put_back_what_nobody_reads() noexcept;
    std::optional<gpu::DevicePart> from_gap(std::uint64_t bytes, std::uint64_t size);
    Status add_block(std::uint64_t size);
    Result<gpu::DeviceBlock> ask_device(std::uint64_t least, std::uint64_t wanted);
    std::vector<std::unique_ptr<Block>> take_empty_blocks() noexcept;
    void give_back(const std::vector<std::unique_ptr<Block>>& blocks) noexcept;
    void add_gap(Block& block, std::uint64_t offset, std::uint64_t bytes);
    void remove_gap(Block& block, std::map<std::uint64_t, std::uint64_t>::iterator gap);
    void forget_other_threads() noexcept;

    const std::shared_ptr<gpu::DeviceMemory> m_memory;
    mutable base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};
    std::uint64_t m_max_bytes;
    std::vector<std::unique_ptr<Block>> m_blocks;
    std::set<Gap> m_gaps;
    Usage m_usage;
    bool m_growing = false;         // a thread is asking the device for a block
    std::uint64_t m_asked_for = 0;  // by that thread, and counted as reserved

    struct Freed {
        std::uint64_t when;
        gpu::DevicePart part;
    };
    std::uint64_t m_time = 0;                // counts what was freed under guard
    std::multiset<std::uint64_t> m_readers;  // since when
    std::deque<Freed> m_freed;               // freed and not yet put back, oldest first
    std::condition_variable_any m_put_back;
    const base::ForkGuard m_at_fork{[this] { forget_other_threads(); }};
};

// A part of an arena, given back at the end.
class PlacedPart {
public:
    PlacedPart(std::shared_ptr<Arena> arena, const gpu::DevicePart& part) : m_arena(std::move(arena)), m_part(part) {}
    PlacedPart(PlacedPart&& other) noexcept = default;
    PlacedPart& operator=(PlacedPart&&) = delete;
    PlacedPart(const PlacedPart&) = delete;
    PlacedPart& operator=(const PlacedPart&) = delete;
    ~PlacedPart()
    {
        if (m_arena)
            m_arena->free(m_part);
    }

    Arena& arena() const noexcept { return *m_arena; }
    const gpu::DevicePart& part() const noexcept { return m_part; }

private:
    std::shared_ptr<Arena> m_arena;
    gpu::DevicePart m_part;
};

}  // namespace hearth::tiers
