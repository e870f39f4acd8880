#include "tiers/vram/arena.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::tiers {

namespace {

// A small arena is one block. A larger one grows by blocks, each as large as all before it together, up to a part of
// the whole: little is lost at their ends, and little is taken that is never used.
constexpr std::uint64_t k_least_block = 64_MiB;
constexpr std::uint64_t k_blocks = 16;
// Alignment makes parts larger than their content; an arena should hold its size in content anyway.
constexpr std::uint64_t k_room_for_alignment = 64_KiB;

}  // namespace

Arena::Arena(std::shared_ptr<gpu::DeviceMemory> memory, std::uint64_t max_bytes)
    : m_memory(std::move(memory)), m_max_bytes(max_bytes)
{
}

Arena::~Arena()
{
    for (const std::unique_ptr<Block>& block : m_blocks)
        m_memory->free(block->device);
}

// At least one unit: parts without bytes need an address of their own too.
std::uint64_t Arena::rounded(std::uint64_t bytes) const noexcept
{
    const std::uint64_t unit = m_memory->alignment();
    return std::max<std::uint64_t>(1, (bytes + unit - 1) / unit) * unit;
}

std::uint64_t Arena::most() const noexcept
{
    const bool bounded = m_max_bytes != 0 && m_max_bytes < UINT64_MAX - k_room_for_alignment;
    return bounded ? m_max_bytes + k_room_for_alignment : UINT64_MAX;
}

bool Arena::has_place(std::uint64_t bytes, Growth growth) const
{
    const std::uint64_t size = rounded(bytes);
    const std::lock_guard lock(m_mutex);
    // While another thread asks the device, nobody knows yet; allocate() waits for it.
    if (m_growing || m_gaps.lower_bound(Gap{size, nullptr, 0}) != m_gaps.end())
        return true;
    return growth == Growth::yes && m_usage.reserved < most() && size <= most() - m_usage.reserved;
}

Arena::Plan::Plan(const Arena& arena, std::uint64_t bytes, Growth growth) : m_arena(arena), m_size(arena.rounded(bytes))
{
    const std::lock_guard lock(arena.m_mutex);
    // A device that has no more gives what it gets back.
    const std::uint64_t reserved = arena.m_usage.reserved;
    const std::uint64_t beyond =
        m_size > arena.most() - std::min(arena.most(), reserved) ? reserved + m_size - arena.most() : 0;
    m_lacking = growth == Growth::yes ? beyond : std::max(beyond, m_size);
    copy_blocks();
}

// No gap is as large as its size says, so only whole blocks are enough.
Arena::Plan::Plan(const Arena& arena, std::uint64_t bytes) : m_arena(arena), m_size(UINT64_MAX), m_lacking(bytes)
{
    const std::lock_guard lock(arena.m_mutex);
    copy_blocks();
}

void Arena::Plan::copy_blocks()
{
    for (const std::unique_ptr<Block>& block : m_arena.m_blocks) {
        m_blocks[id_of(block->device)] = {block->device.bytes, block->used, block->gaps, {}};
        m_empty += block->used == 0 ? block->device.bytes : 0;
    }
    for (const Freed& freed : m_arena.m_freed)  // they come back as soon as the present readers are done
        static_cast<void>(free(freed.part));
}

bool Arena::Plan::free(const gpu::DevicePart& part)
{
    const auto found = m_blocks.find(id_of(part.block));
    if (found == m_blocks.end())
        return false;
    PlannedBlock& block = found->second;
    put_back(block, part.offset, m_arena.rounded(part.bytes));
    const auto gap = std::prev(block.gaps.upper_bound(part.offset));
    if (gap->second >= m_size) {
        m_block = found->first;
        m_start = best_start(block, gap->first, gap->second);
        return true;
    }
    m_empty += block.used == 0 ? block.bytes : 0;
    m_whole_blocks = m_empty >= m_lacking;
    return m_whole_blocks;
}

void Arena::Plan::put_back(PlannedBlock& block, std::uint64_t offset, std::uint64_t size)
{
    block.used -= size;
    block.freed.emplace(offset, size);
    const auto next = block.gaps.lower_bound(offset);
    if (next != block.gaps.end() && next->first == offset + size) {
        size += next->second;
        block.gaps.erase(next);
    }
    const auto after = block.gaps.lower_bound(offset);
    if (after != block.gaps.begin()) {
        const auto before = std::prev(after);
        if (before->first + before->second == offset) {
            before->second += size;
            return;
        }
    }
    block.gaps.emplace(offset, size);
}

// At the gap's beginning or at its end, whichever costs fewer bytes.
std::uint64_t Arena::Plan::best_start(const PlannedBlock& block, std::uint64_t gap, std::uint64_t gap_size) const
{
    const auto freed_from = [&](std::uint64_t start) {
        std::uint64_t bytes = 0;
        for (const auto& [offset, size] : block.freed)
            bytes += offset < start + m_size && offset + size > start ? size : 0;
        return bytes;
    };
    const std::uint64_t end = gap + gap_size - m_size;
    return freed_from(gap) <= freed_from(end) ? gap : end;
}

bool Arena::Plan::needs(const gpu::DevicePart& part) const
{
    const auto found = m_blocks.find(id_of(part.block));
    if (found == m_blocks.end() || !found->second.freed.contains(part.offset))
        return false;
    if (m_whole_blocks)
        return found->second.used == 0;
    return m_block == found->first && part.offset < m_start + m_size &&
           part.offset + m_arena.rounded(part.bytes) > m_start;
}

Result<gpu::DevicePart> Arena::allocate(std::uint64_t bytes)
{
    const std::uint64_t size = rounded(bytes);
    std::unique_lock lock(m_mutex);
    for (;;) {
        if (std::optional<gpu::DevicePart> part = from_gap(bytes, size))
            return *part;
        // One thread at a time asks the device; the others wait and then look again.
        if (m_growing) {
            m_put_back.wait(lock, [&] { return !m_growing; });
            continue;
        }
        m_growing = true;
        lock.unlock();
        Status added = add_block(size);
        lock.lock();
        m_growing = false;
        m_put_back.notify_all();
        HEARTH_TRY(added);
    }
}

std::optional<gpu::DevicePart> Arena::from_gap(std::uint64_t bytes, std::uint64_t size)
{
    const auto best = m_gaps.lower_bound(Gap{size, nullptr, 0});
    if (best == m_gaps.end())
        return std::nullopt;
    const Gap gap = *best;
    Block& block = *gap.block;
    if (gap.bytes == size) {
        remove_gap(block, block.gaps.find(gap.offset));
    } else {
        // The rest of the gap reuses the memory of its records.
        auto by_offset = block.gaps.extract(gap.offset);
        by_offset.key() += size;
        by_offset.mapped() -= size;
        block.gaps.insert(std::move(by_offset));
        auto by_size = m_gaps.extract(best);
        by_size.value().offset += size;
        by_size.value().bytes -= size;
        m_gaps.insert(std::move(by_size));
    }
    block.used += size;
    m_usage.allocated += size;
    return gpu::DevicePart{block.device, gap.offset, bytes};
}

Status Arena::add_block(std::uint64_t size)
{
    std::uint64_t wanted = 0;
    std::vector<std::unique_ptr<Block>> empty;
    {
        const std::lock_guard lock(m_mutex);
        const std::uint64_t most = this->most();
        const auto fits = [&] { return m_usage.reserved < most && size <= most - m_usage.reserved; };
        if (!fits())
            empty = take_empty_blocks();
        if (fits()) {
            const std::uint64_t largest = std::max(k_least_block, std::min(m_max_bytes / k_blocks, m_usage.reserved));
            wanted = std::min(std::max(size, largest), most - m_usage.reserved);
            m_asked_for = wanted;
            m_usage.reserved += wanted;  // counted while the device is asked
        }
    }
    give_back(empty);
    if (wanted == 0) {
        const std::lock_guard lock(m_mutex);
        return error(Code::no_space, "No gap of {} bytes is left in {} bytes of device memory, {} of which are in use.",
                     size, m_usage.reserved, m_usage.allocated);
    }
    Result<gpu::DeviceBlock> found = ask_device(size, wanted);
    if (!found && found.error().code == Code::no_space) {
        {
            const std::lock_guard lock(m_mutex);
            empty = take_empty_blocks();
        }
        give_back(empty);
        if (!empty.empty())
            found = ask_device(size, wanted);
    }
    auto block = std::make_unique<Block>();
    const std::lock_guard lock(m_mutex);
    m_usage.reserved -= wanted;
    m_asked_for = 0;
    HEARTH_TRY(found);
    block->device = *found;
    m_usage.reserved += block->device.bytes;
    add_gap(*block, 0, block->device.bytes);
    m_blocks.push_back(std::move(block));
    return {};
}

// A device without room for a whole block may have room for a smaller one.
Result<gpu::DeviceBlock> Arena::ask_device(std::uint64_t least, std::uint64_t wanted)
{
    for (;;) {
        Result<gpu::DeviceBlock> block = m_memory->allocate(wanted);
        if (block || block.error().code != Code::no_space || wanted == least)
            return block;
        wanted = std::max(least, wanted / 2);
    }
}

void Arena::add_gap(Block& block, std::uint64_t offset, std::uint64_t bytes)
{
    block.gaps.emplace(offset, bytes);
    m_gaps.insert(Gap{bytes, &block, offset});
}

void Arena::remove_gap(Block& block, std::map<std::uint64_t, std::uint64_t>::iterator gap)
{
    m_gaps.erase(Gap{gap->second, &block, gap->first});
    block.gaps.erase(gap);
}

void Arena::free(const gpu::DevicePart& part) noexcept
{
    const std::lock_guard lock(m_mutex);
    if (m_readers.empty())
        put_back(part);
    else
        m_freed.push_back({++m_time, part});
}

Arena::ReadGuard::ReadGuard(Arena& arena) : m_arena(arena)
{
    const std::lock_guard lock(arena.m_mutex);
    m_since = arena.m_time;
    arena.m_readers.insert(m_since);
}

Arena::ReadGuard::~ReadGuard()
{
    const std::lock_guard lock(m_arena.m_mutex);
    m_arena.m_readers.erase(m_arena.m_readers.find(m_since));
    m_arena.put_back_what_nobody_reads();
}

// A reader that came after a part was freed cannot have found it.
void Arena::put_back_what_nobody_reads() noexcept
{
    const std::size_t before = m_freed.size();
    while (!m_freed.empty() && (m_readers.empty() || *m_readers.begin() >= m_freed.front().when)) {
        put_back(m_freed.front().part);
        m_freed.pop_front();
    }
    if (m_freed.size() != before)
        m_put_back.notify_all();
}

bool Arena::wait_for_readers()
{
    std::unique_lock lock(m_mutex);
    if (m_freed.empty())
        return false;
    const std::uint64_t last = m_freed.back().when;
    m_put_back.wait(lock, [&] { return m_freed.empty() || m_freed.front().when > last; });
    return true;
}

void Arena::put_back(const gpu::DevicePart& part) noexcept
{
    const auto owner = std::find_if(m_blocks.begin(), m_blocks.end(), [&](const std::unique_ptr<Block>& block) {
        return block->device.address == part.block.address && block->device.buffer == part.block.buffer;
    });
    if (owner == m_blocks.end())
        return;
    Block& block = **owner;
    std::uint64_t offset = part.offset;
    std::uint64_t size = rounded(part.bytes);
    block.used -= size;
    m_usage.allocated -= size;
    const auto next = block.gaps.lower_bound(offset);
    const auto previous = next == block.gaps.begin() ? block.gaps.end() : std::prev(next);
    if (next != block.gaps.end() && next->first == offset + size) {
        size += next->second;
        remove_gap(block, next);
    }
    if (previous != block.gaps.end() && previous->first + previous->second == offset) {
        offset = previous->first;
        size += previous->second;
        remove_gap(block, previous);
    }
    add_gap(block, offset, size);
}

// In a forked child, the threads that asked the device or read do not exist.
void Arena::forget_other_threads() noexcept
{
    m_growing = false;
    m_usage.reserved -= m_asked_for;
    m_asked_for = 0;
    m_readers.clear();
    // The old one's internal lock may be held by a thread that was about to wait, so it is replaced, not destroyed.
    std::construct_at(&m_put_back);
    put_back_what_nobody_reads();
}

void Arena::set_max_bytes(std::uint64_t max_bytes)
{
    std::vector<std::unique_ptr<Block>> empty;
    {
        const std::lock_guard lock(m_mutex);
        m_max_bytes = max_bytes;
        if (max_bytes != 0 && m_usage.reserved > max_bytes)
            empty = take_empty_blocks();
    }
    give_back(empty);
}

std::uint64_t Arena::trim() noexcept
{
    std::vector<std::unique_ptr<Block>> empty;
    {
        const std::lock_guard lock(m_mutex);
        empty = take_empty_blocks();
    }
    give_back(empty);
    std::uint64_t bytes = 0;
    for (const std::unique_ptr<Block>& block : empty)
        bytes += block->device.bytes;
    return bytes;
}

// Takes them out of the arena; they are given back to the device without the lock.
std::vector<std::unique_ptr<Arena::Block>> Arena::take_empty_blocks() noexcept
{
    std::vector<std::unique_ptr<Block>> empty;
    for (std::unique_ptr<Block>& block : m_blocks) {
        if (block->used != 0)
            continue;
        while (!block->gaps.empty())
            remove_gap(*block, block->gaps.begin());
        m_usage.reserved -= block->device.bytes;
        empty.push_back(std::move(block));
    }
    std::erase(m_blocks, nullptr);
    return empty;
}

void Arena::give_back(const std::vector<std::unique_ptr<Block>>& blocks) noexcept
{
    for (const std::unique_ptr<Block>& block : blocks)
        m_memory->free(block->device);
}

Arena::Usage Arena::usage() const
{
    const std::lock_guard lock(m_mutex);
    return m_usage;
}

}  // namespace hearth::tiers
