#include "tiers/memory/memory_tier.hpp"

#include "base/clock.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth {

TierSpec memory(MemoryOptions options)
{
    return {options.name, [options](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                return {std::make_unique<tiers::MemoryTier>(options, context)};
            }};
}

TierSpec memory(std::uint64_t max_bytes)
{
    return memory(MemoryOptions{.max_bytes = max_bytes});
}

namespace tiers {

namespace {

WallTime wall_time(std::uint64_t tick)
{
    return WallTime(std::chrono::nanoseconds(static_cast<std::int64_t>(tick)));
}

inline Found answer(const Node& node, base::HazardSlot* slot)
{
    Found found;
    found.uses = node.resident.uses();
    found.bytes = node.resident.bytes;
    found.cost = node.cost;
    found.artifact = ArtifactLease(slot, node.artifact);
    return found;
}

}  // namespace

MemoryTier::MemoryTier(MemoryOptions options, const TierContext& context)
    : m_name(std::move(options.name)), m_clock(*context.clock), m_limits{.max_bytes = options.max_bytes,
                                                                         .max_entries = options.max_entries,
                                                                         .max_age = {}},
      m_policy(context.policy())
{
    set_careful();
}

MemoryTier::~MemoryTier() = default;

Found MemoryTier::find(const Key& key)
{
    const ResidentTable::Protected found = m_table.find(key);
    if (!found.node || found.node->expires != WallTime{} || m_careful.load(std::memory_order_relaxed))
        return find_carefully(key, found);
    found.node->resident.bump();
    found.node->resident.set_last_used(m_tick.load(std::memory_order_relaxed));
    return answer(*found.node, found.slot);
}

// Whatever is not a plain hit: a miss, an entry that may have moved or expired, a policy that wants every touch.
Found MemoryTier::find_carefully(const Key& key, ResidentTable::Protected found)
{
    found = make_sure(key, found);
    if (!found.node)
        return Found::miss(Miss::absent);
    Node& node = *found.node;
    if (expired(node)) {
        base::release_slot(found.slot);
        remove(key);
        return Found::miss(Miss::expired);
    }
    node.resident.bump();
    if (m_every_touch.load(std::memory_order_relaxed)) {
        const std::lock_guard lock(m_mutex);
        node.resident.set_last_used(advance());
        if (m_table.peek(key) == &node)
            m_policy->touched(node.resident);
    } else {
        node.resident.set_last_used(m_tick.load(std::memory_order_relaxed));
    }
    return answer(node, found.slot);
}

Found MemoryTier::peek(const Key& key)
{
    const ResidentTable::Protected found = make_sure(key, m_table.find(key));
    if (!found.node)
        return Found::miss(Miss::absent);
    if (expired(*found.node)) {
        base::release_slot(found.slot);
        return Found::miss(Miss::expired);
    }
    return answer(*found.node, found.slot);
}

// Asks under the lock when a reader without it could not know.
ResidentTable::Protected MemoryTier::make_sure(const Key& key, ResidentTable::Protected found)
{
    if (found.unsure) {
        const std::lock_guard lock(m_mutex);
        if (Node* node = m_table.peek(key)) {
            found = {node, base::acquire_slot(), false};
            base::announce(found.slot, node);
        }
    }
    return found;
}

bool MemoryTier::expired(const Node& node) const
{
    const std::chrono::seconds max_age(m_max_age.load(std::memory_order_relaxed));
    return (node.expires != WallTime{} && m_clock.now() >= node.expires) ||
           (max_age.count() > 0 && node.artifact->created <= base::time_before(m_clock.now(), max_age));
}

void MemoryTier::set_careful()
{
    m_every_touch = m_policy->touches() == Policy::Touches::each;
    m_careful = m_every_touch || m_limits.max_age.count() > 0;
}

std::uint64_t MemoryTier::advance()
{
    const auto now = static_cast<std::uint64_t>(std::max<std::int64_t>(m_clock.now().time_since_epoch().count(), 0));
    const std::uint64_t tick = std::max(m_tick.load(std::memory_order_relaxed) + 1, now);
    m_tick.store(tick, std::memory_order_relaxed);
    return tick;
}

// Out of the table and the policy, and no longer counted; the caller retires it.
Node* MemoryTier::unlink(const Key& key)
{
    Node* node = m_table.take(key);
    if (node) {
        m_policy->removed(node->resident);
        m_bytes -= node->resident.bytes;
    }
    return node;
}

void MemoryTier::evict(Node& node, EvictionCause cause, Victims keep, std::vector<Victim>& out)
{
    Victim victim{node.resident.key, node.resident.bytes, node.resident.cost, cause, std::nullopt};
    if (keep == Victims::keep)
        victim.entry.emplace(node.artifact);
    out.push_back(std::move(victim));
    base::retire(unlink(node.resident.key));
}

bool MemoryTier::over(std::uint64_t bytes, std::uint64_t entries) const
{
    return (m_limits.max_bytes != 0 && m_bytes + bytes > m_limits.max_bytes) ||
           (m_limits.max_entries != 0 && m_table.size() + entries > m_limits.max_entries);
}

void MemoryTier::make_room(std::uint64_t bytes, std::uint64_t entries, const Node* spare, EvictionCause cause,
                           Victims keep, std::vector<Victim>& out)
{
    while (over(bytes, entries)) {
        const Resident* victim = m_policy->victim();
        // A policy of the user's may name none, or one that is not here: the limit holds all the same.
        Node* node = victim ? m_table.peek(victim->key) : nullptr;
        if (!node || node == spare) {
            node = nullptr;
            m_table.for_each([&](Node& any) { node = &any == spare ? node : &any; });
        }
        if (!node)
            return;
        evict(*node, cause, keep, out);
    }
}

Result<StoreReport> MemoryTier::store(const Key& key, const Entry& entry, Victims victims)
{
    auto node = std::make_unique<Node>(key, entry.artifact());
    const std::uint64_t bytes = node->resident.bytes;

    const std::lock_guard lock(m_mutex);
    if (m_limits.max_bytes != 0 && bytes > m_limits.max_bytes)
        return Error{Code::too_large,
                     fmt::format("Entry of {} bytes is larger than tier \"{}\" can hold ({}). Raise its capacity or "
                                 "lower the entry's size.",
                                 bytes, m_name, m_limits.max_bytes),
                     {}};
    if (!m_policy->admit(node->resident))
        return Error{Code::no_space,
                     fmt::format("The policy of tier \"{}\" did not admit an entry of {} bytes.", m_name, bytes),
                     {}};

    StoreReport report;
    report.bytes = bytes;
    node->resident.set_last_used(advance());
    // What is replaced makes room first and is not a victim; readers see the old one until the new one is in place.
    Node* old = m_table.peek(key);
    if (old) {
        node->resident.set_uses(old->resident.uses());
        m_policy->removed(old->resident);
        m_bytes -= old->resident.bytes;
        report.replaced = true;
    }
    make_room(bytes, old ? 0 : 1, old, EvictionCause::capacity, victims, report.victims);
    m_bytes += bytes;
    Node* placed = node.release();
    if (Node* replaced = m_table.put(placed))
        base::retire(replaced);
    m_policy->inserted(placed->resident);
    return report;
}

bool MemoryTier::contains(const Key& key)
{
    const std::lock_guard lock(m_mutex);
    const Node* node = m_table.peek(key);
    return node && !expired(*node);
}

bool MemoryTier::remove(const Key& key)
{
    const std::lock_guard lock(m_mutex);
    Node* node = unlink(key);
    if (node) {
        advance();
        base::retire(node);
    }
    return node != nullptr;
}

void MemoryTier::clear()
{
    const std::lock_guard lock(m_mutex);
    remove_if([](const Node&) { return true; });
}

std::uint64_t MemoryTier::remove_if(const std::function<bool(const Node&)>& goes)
{
    std::vector<base::Reclaimable*> gone;
    m_table.for_each([&](Node& node) {
        if (goes(node))
            gone.push_back(&node);
    });
    for (base::Reclaimable* node : gone)
        unlink(static_cast<Node*>(node)->resident.key);
    base::retire(gone);
    return gone.size();
}

TierUsage MemoryTier::usage()
{
    const std::lock_guard lock(m_mutex);
    return {m_bytes, m_table.size()};
}

Limits MemoryTier::limits() const
{
    const std::lock_guard lock(m_mutex);
    return m_limits;
}

std::vector<Victim> MemoryTier::set_limits(const Limits& limits, Victims victims)
{
    std::vector<Victim> evicted;
    const std::lock_guard lock(m_mutex);
    m_limits = limits;
    m_max_age = limits.max_age.count();
    set_careful();
    evict_expired(EvictionCause::limit_lowered, evicted);
    make_room(0, 0, nullptr, EvictionCause::limit_lowered, victims, evicted);
    return evicted;
}

void MemoryTier::evict_expired(EvictionCause cause, std::vector<Victim>& out)
{
    std::vector<Node*> old;
    m_table.for_each([&](Node& node) {
        if (expired(node))
            old.push_back(&node);
    });
    for (Node* node : old)
        evict(*node, cause, Victims::discard, out);
}

void MemoryTier::set_policy(const PolicyFactory& policy)
{
    const std::lock_guard lock(m_mutex);
    std::vector<Node*> nodes;
    m_table.for_each([&](Node& node) { nodes.push_back(&node); });
    std::sort(nodes.begin(), nodes.end(),
              [](const Node* a, const Node* b) { return a->resident.last_used() < b->resident.last_used(); });
    m_policy = policy();
    for (const Node* node : nodes) {
        node->resident.aging = 0;  // it counted by the old policy's clock
        m_policy->inserted(node->resident);
    }
    set_careful();
}

EntryRow MemoryTier::row_of(const Node& node) const
{
    EntryRow row;
    row.key = node.resident.key;
    row.metadata = node.artifact->metadata;
    row.bytes = node.artifact->size();
    row.stored_bytes = node.resident.bytes;
    row.created = node.artifact->created;
    row.uses = node.resident.uses();
    row.last_used = row.uses == 0 ? WallTime{} : wall_time(node.resident.last_used());
    row.cost = node.artifact->cost;
    row.status = node.artifact->status;
    row.tier = m_name;
    return row;
}

std::optional<EntryRow> MemoryTier::info(const Key& key)
{
    const std::lock_guard lock(m_mutex);
    const Node* node = m_table.peek(key);
    if (!node)
        return std::nullopt;
    return row_of(*node);
}

void MemoryTier::for_each(const std::function<bool(const EntryRow&)>& visit)
{
    std::vector<EntryRow> rows;
    {
        const std::lock_guard lock(m_mutex);
        m_table.for_each([&](Node& node) { rows.push_back(row_of(node)); });
    }
    for (const EntryRow& row : rows)
        if (!visit(row))
            return;
}

std::uint64_t MemoryTier::remove_idle(std::chrono::seconds idle, const Progress& /*progress*/)
{
    const std::lock_guard lock(m_mutex);
    const WallTime since = base::time_before(m_clock.now(), idle);
    return remove_if([&](const Node& node) { return wall_time(node.resident.last_used()) < since; });
}

VerifyReport MemoryTier::verify(Repair /*repair*/, const Progress& /*progress*/)
{
    const std::lock_guard lock(m_mutex);
    VerifyReport report;
    std::uint64_t bytes = 0;
    m_table.for_each([&](Node& node) {
        ++report.checked;
        ++report.intact;
        bytes += node.resident.bytes;
    });
    report.accounting_exact = bytes == m_bytes && report.checked == m_table.size();
    return report;
}

void MemoryTier::touch(const Key& key, std::uint32_t uses)
{
    const std::lock_guard lock(m_mutex);
    if (Node* node = m_table.peek(key)) {
        const std::uint64_t sum = std::uint64_t{node->resident.uses()} + uses;
        node->resident.set_uses(static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, Resident::k_max_uses)));
        node->resident.set_last_used(advance());
        m_policy->touched(node->resident);
    }
}

std::vector<Victim> MemoryTier::maintain(std::stop_token /*stop*/)
{
    std::vector<Victim> evicted;
    const std::lock_guard lock(m_mutex);
    advance();
    evict_expired(EvictionCause::age, evicted);
    return evicted;
}

}  // namespace tiers

}  // namespace hearth
