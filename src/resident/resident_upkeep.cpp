// Limits, expiry, and what a store tells of its entries.

#include "base/clock.hpp"
#include "format/request.hpp"
#include "resident/resident_store.hpp"

#include <algorithm>
#include <thread>

namespace hearth::resident {

namespace {

constexpr std::chrono::microseconds k_pause{50};

WallTime wall_time(std::uint64_t tick)
{
    return WallTime(std::chrono::nanoseconds(static_cast<std::int64_t>(tick)));
}

}  // namespace

Departed ResidentStore::evict_to(const EvictTo& goal)
{
    Departed departed;
    const std::lock_guard lock(m_mutex);
    if (goal.unused_for) {
        const WallTime since = base::time_before(m_clock.now(), *goal.unused_for);
        std::vector<Node*> idle;
        m_table.for_each([&](Node& node) {
            if (wall_time(node.resident.last_used()) < since)
                idle.push_back(&node);
        });
        for (Node* node : idle)
            take_out(*node, EvictionCause::age, departed);
    }
    const auto more = [](const std::optional<std::uint64_t>& most, std::uint64_t there) {
        return most && there > *most;
    };
    while (more(goal.max_bytes, counted_bytes()) || more(goal.max_entries, m_table.size())) {
        Node* const node = victim(nullptr);
        if (!node)
            break;
        take_out(*node, EvictionCause::limit_lowered, departed);
    }
    return departed;
}

void ResidentStore::note_limits(const Limits& limits)
{
    m_limits = limits;
    m_max_age = limits.max_age.count();
    set_careful();
}

Departed ResidentStore::set_limits(const Limits& limits)
{
    Departed departed;
    const std::lock_guard lock(m_mutex);
    note_limits(limits);
    depart_expired(0, ~std::size_t{0} / 2, EvictionCause::limit_lowered, departed);
    make_room(nullptr, EvictionCause::limit_lowered, departed);
    return departed;
}

Departed ResidentStore::depart_expired(const std::stop_token& stop)
{
    Departed departed;
    for (std::size_t slot = 0;;) {
        {
            const std::lock_guard lock(m_mutex);
            advance();
            slot = depart_expired(slot, k_slots_at_once, EvictionCause::age, departed);
        }
        if (slot == 0 || stop.stop_requested())
            return departed;
        // Whoever waits for the lock has been woken, and is not yet awake: taken again at once, it would be ours.
        std::this_thread::sleep_for(k_pause);
    }
}

// Looks at some slots of the table. Returns where to go on, or 0.
std::size_t ResidentStore::depart_expired(std::size_t slot, std::size_t count, EvictionCause cause, Departed& departed)
{
    const WallTime now = m_clock.now();
    std::vector<Node*> old;
    const std::size_t next = m_table.for_some(slot, count, [&](Node& node) {
        if (expired(node, now))
            old.push_back(&node);
    });
    for (Node* node : old)
        take_out(*node, cause, departed, false);
    return next;
}

void ResidentStore::set_policy(std::unique_ptr<Policy> policy)
{
    const std::lock_guard lock(m_mutex);
    // The times of last use are copied first: hits go on without the lock, and a sort needs values that do not change.
    std::vector<std::pair<std::uint64_t, Node*>> nodes;
    m_table.for_each([&](Node& node) { nodes.emplace_back(node.resident.last_used(), &node); });
    std::sort(nodes.begin(), nodes.end());
    m_policy = std::move(policy);
    for (const auto& [last_used, node] : nodes) {
        node->resident.aging = 0;  // it counted by the old policy's clock
        m_policy->inserted(node->resident);
    }
    set_careful();
}

EntryRow ResidentStore::row_of(const Node& node) const
{
    EntryRow row;
    row.key = node.resident.key;
    row.bytes = node.resident.bytes;
    row.stored_bytes = node.resident.bytes;
    row.created = node.about().created;
    row.uses = node.resident.uses();
    row.last_used = row.uses == 0 ? WallTime{} : wall_time(node.resident.last_used());
    row.cost = node.about().cost;
    row.tier = m_name;
    row.compiler_build = format::compiler_build_of(node.about().request.view());
    return row;
}

bool ResidentStore::is_exact() const
{
    const std::lock_guard lock(m_mutex);
    std::uint64_t bytes = 0;
    std::uint64_t beside = 0;
    std::size_t entries = 0;
    m_table.for_each([&](const Node& node) {
        ++entries;
        bytes += node.resident.bytes;
        beside += node.beside();
    });
    return bytes == m_bytes && beside == m_beside && entries == m_table.size();
}

}  // namespace hearth::resident
