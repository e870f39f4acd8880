#include "resident/resident_store.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "policy/outweighed.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace hearth::resident {

namespace {

constexpr std::uint64_t k_second = 1'000'000'000;  // in ticks

std::uint64_t tick_of(WallTime time)
{
    return static_cast<std::uint64_t>(std::max<std::int64_t>(time.time_since_epoch().count(), 0));
}

}  // namespace

void Departed::retire() noexcept
{
    if (m_nodes.empty())
        return;
    std::vector<base::Reclaimable*> nodes(m_nodes.size());
    std::transform(m_nodes.begin(), m_nodes.end(), nodes.begin(), [](const One& one) { return one.node; });
    m_nodes.clear();
    base::retire(nodes);  // all with one barrier
}

std::vector<Victim> Departed::victims() const
{
    std::vector<Victim> victims;
    victims.reserve(m_nodes.size());
    for (const One& one : m_nodes) {
        const Resident& resident = one.node->resident;
        victims.push_back({resident.key, resident.bytes, resident.cost, one.cause, std::nullopt});
    }
    return victims;
}

ResidentStore::ResidentStore(std::string name, const Clock& clock, std::unique_ptr<Policy> policy, const Limits& limits)
    : m_name(std::move(name)), m_clock(clock), m_system_time(&clock == &base::system_clock()), m_limits(limits),
      m_policy(std::move(policy))
{
    m_max_age = limits.max_age.count();
    set_careful();
}

// Everything but a plain hit: a miss, an entry that may have moved or expired, a policy that wants every touch.
ResidentTable::Held ResidentStore::find_carefully(const Key& key, ResidentTable::Held found, Miss& why)
{
    why = Miss::absent;
    if (!found.node) {
        const ResidentTable::Protected sure = make_sure(key, m_table.find_again(key));
        found = {sure.node, sure.slot};
    }
    if (!found.node)
        return {};
    Node& node = *found.node;
    if (expired(node)) {
        // Another thread may have put a fresh one in its place. The slot keeps this one's address from being used
        // again.
        remove_if(key, [&](const Node& there) { return &there == &node; });
        base::release_slot(found.slot);
        why = Miss::expired;
        return {};
    }
    if (m_every_touch.load(std::memory_order_relaxed)) {
        const std::lock_guard lock(m_mutex);
        node.resident.bump();
        node.resident.set_last_used(advance());
        if (m_table.peek(key) == &node && !m_aside.contains(&node))
            m_policy->touched(node.resident);
    } else {
        note_use(node.resident);
    }
    return found;
}

ResidentStore::Hit ResidentStore::peek(const Key& key)
{
    const ResidentTable::Protected found = make_sure(key, m_table.find(key));
    if (!found.node)
        return {};
    if (expired(*found.node)) {
        base::release_slot(found.slot);
        return {nullptr, nullptr, Miss::expired};
    }
    return {found.node, found.slot, Miss::absent};
}

// Asks under the lock when a reader without it could not know.
ResidentTable::Protected ResidentStore::make_sure(const Key& key, ResidentTable::Protected found)
{
    if (found.unsure) {
        const std::lock_guard lock(m_mutex);
        if (Node* node = m_table.peek(key)) {
            found = {{node, base::acquire_slot()}, false};
            base::announce(found.slot, node);
        }
    }
    return found;
}

bool ResidentStore::contains(const Key& key)
{
    const std::lock_guard lock(m_mutex);
    const Node* node = m_table.peek(key);
    return node && !expired(*node);
}

bool ResidentStore::expired(const Node& node, WallTime now) const
{
    const std::chrono::seconds max_age(m_max_age.load(std::memory_order_relaxed));
    return (node.expires != WallTime{} && now >= node.expires) ||
           (max_age.count() > 0 && node.about().created <= base::time_before(now, max_age));
}

void ResidentStore::set_careful()
{
    m_every_touch = m_policy->touches() == Policy::Touches::each;
    m_careful = m_every_touch || m_limits.max_age.count() > 0;
}

std::uint64_t ResidentStore::advance()
{
    const std::uint64_t now = tick_of(m_clock.now());
    std::uint64_t last = m_tick.load(std::memory_order_relaxed);
    while (!m_tick.compare_exchange_weak(last, std::max(last + 1, now), std::memory_order_relaxed)) {
    }
    return std::max(last + 1, now);
}

void ResidentStore::look_at_clock()
{
    const std::uint64_t now = tick_of(m_system_time ? base::coarse_time() : m_clock.now());
    std::uint64_t last = m_tick.load(std::memory_order_relaxed);
    // A whole second behind, so that hits seldom write what all of them read. If another was quicker, that will do.
    if (now >= last + k_second)
        m_tick.compare_exchange_strong(last, now, std::memory_order_relaxed);
}

// Takes the node out of the table, the policy and the counts.
void ResidentStore::take_out(Node& node, EvictionCause cause, Departed& departed, bool worth_keeping)
{
    m_table.take(node.resident.key);
    m_policy->removed(node.resident);
    count_out(node);
    departed.add(&node, cause, worth_keeping);
}

void ResidentStore::count(const Node& node) noexcept
{
    m_bytes += node.resident.bytes;
    m_beside += node.beside();
}

void ResidentStore::count_out(const Node& node) noexcept
{
    m_bytes -= node.resident.bytes;
    m_beside -= node.beside();
}

// What counts against the limit, without `spare`, and with what an entry on its way in takes beside its bytes.
std::uint64_t ResidentStore::counted_bytes(const Node* spare, std::uint64_t coming) const noexcept
{
    const std::uint64_t beside = m_beside - (spare ? spare->beside() : 0) + coming;
    return m_bytes - (spare ? spare->resident.bytes : 0) + (beside > k_free_beside ? beside - k_free_beside : 0);
}

// `spare` is about to be replaced: it is not counted and never chosen.
bool ResidentStore::over(const Node* spare, std::uint64_t coming) const
{
    const std::uint64_t bytes = counted_bytes(spare, coming) + m_reserved_bytes;
    const std::uint64_t entries = m_table.size() + m_reserved_entries - (spare ? 1 : 0);
    return (m_limits.max_bytes != 0 && bytes > m_limits.max_bytes) ||
           (m_limits.max_entries != 0 && entries > m_limits.max_entries);
}

Node* ResidentStore::victim(const Node* spare)
{
    const Resident* chosen = m_policy->victim();
    // A user's own policy may name no victim, or one that is not here: the limit holds all the same.
    Node* node = chosen ? m_table.peek(chosen->key) : nullptr;
    if (!node || node == spare) {
        node = nullptr;
        m_table.for_each([&](Node& any) { node = &any == spare ? node : &any; });
    }
    return node;
}

void ResidentStore::make_room(const Node* spare, EvictionCause cause, Departed& departed, std::uint64_t coming)
{
    // So that the policy does not name it.
    if (spare)
        m_policy->removed(spare->resident);
    while (over(spare, coming)) {
        Node* node = victim(spare);
        if (!node)
            break;
        take_out(*node, cause, departed);
    }
    if (spare)
        m_policy->inserted(spare->resident);
}

std::optional<Error> ResidentStore::refusal(const Resident& entry, std::uint64_t beside) const
{
    const std::uint64_t counted = entry.bytes + (beside > k_free_beside ? beside - k_free_beside : 0);
    if (m_limits.max_bytes != 0 && counted > m_limits.max_bytes)
        return error(Code::too_large,
                     "Entry of {} bytes is larger than tier \"{}\" can hold ({}). Raise its capacity or "
                     "lower the entry's size.",
                     counted, m_name, m_limits.max_bytes);
    if (!m_policy->admit(entry))
        return error(Code::no_space, "The policy of tier \"{}\" did not admit an entry of {} bytes.", m_name,
                     entry.bytes);
    return std::nullopt;
}

// One that replaces another is not weighed: what it replaces must not be found any more.
bool ResidentStore::outweighs_others(const Resident& entry, std::uint64_t beside)
{
    if (m_table.peek(entry.key))
        return true;
    const std::uint64_t counted = counted_bytes(nullptr, beside) + m_reserved_bytes + entry.bytes;
    // A policy knows entries by their bytes alone, which are a part of what they count.
    const double part =
        static_cast<double>(m_bytes + entry.bytes) / static_cast<double>(std::max(counted, m_bytes + 1));
    const auto bytes = static_cast<std::uint64_t>(
        std::ceil(static_cast<double>(policy::excess(counted, m_limits.max_bytes)) * std::min(part, 1.0)));
    const std::uint64_t entries = policy::excess(m_table.size() + m_reserved_entries + 1, m_limits.max_entries);
    return (bytes == 0 && entries == 0) || m_policy->outweighs(entry, bytes, entries);
}

Result<Departed> ResidentStore::reserve(const Resident& entry, Room& room)
{
    Departed departed;
    const std::lock_guard lock(m_mutex);
    if (std::optional<Error> refused = refusal(entry))
        return *std::move(refused);
    HEARTH_TRY(evict_for(m_table.peek(entry.key), room, departed));
    m_reserved_bytes += entry.bytes;
    ++m_reserved_entries;
    make_room(m_table.peek(entry.key), EvictionCause::capacity, departed);
    return departed;
}

void ResidentStore::give_up(const Resident& entry) noexcept
{
    const std::lock_guard lock(m_mutex);
    m_reserved_bytes -= entry.bytes;
    --m_reserved_entries;
}

// Departed entries are destroyed after the lock is released: destroying one may call a device, or destroy locks.
Departed ResidentStore::put(std::unique_ptr<Node> node, bool& replaced, const Outdated& outdated)
{
    Departed old;
    Departed victims;
    const std::lock_guard lock(m_mutex);
    if (outdated && outdated(m_table.peek(node->resident.key))) {
        m_reserved_bytes -= node->resident.bytes;
        --m_reserved_entries;
        old.add(node.release(), EvictionCause::capacity, false);
        replaced = false;
        return victims;
    }
    put_locked(std::move(node), old, victims);
    replaced = !old.empty();
    return victims;
}

Result<Departed> ResidentStore::store(std::unique_ptr<Node> node, bool& replaced)
{
    Departed old;
    Departed victims;
    const std::lock_guard lock(m_mutex);
    const std::uint64_t beside = node->beside();
    if (std::optional<Error> refused = refusal(node->resident, beside))
        return *std::move(refused);
    if (!outweighs_others(node->resident, beside))
        return policy::outweighed(m_name, node->resident.bytes);
    m_reserved_bytes += node->resident.bytes;
    ++m_reserved_entries;
    make_room(m_table.peek(node->resident.key), EvictionCause::capacity, victims, beside);
    put_locked(std::move(node), old, victims);
    replaced = !old.empty();
    return victims;
}

// Readers see the old node until the new one is in place. A replaced node is no victim.
Node& ResidentStore::put_counted(std::unique_ptr<Node> owned, Departed& old)
{
    Node& node = *owned;
    m_reserved_bytes -= node.resident.bytes;
    --m_reserved_entries;
    node.resident.set_last_used(advance());
    if (const Node* before = m_table.peek(node.resident.key))
        node.resident.set_uses(before->resident.uses());
    Node* replaced = m_table.put(&node);
    static_cast<void>(owned.release());
    count(node);
    if (replaced) {
        m_policy->removed(replaced->resident);
        count_out(*replaced);
        m_aside.erase(replaced);
        old.add(replaced, EvictionCause::capacity, false);
    }
    return node;
}

void ResidentStore::put_locked(std::unique_ptr<Node> owned, Departed& old, Departed& victims)
{
    Node& node = put_counted(std::move(owned), old);
    // The entry that was to be replaced may be gone by now, and others may have counted on its room too. The policy is
    // told of the new one afterwards, so that it does not name it.
    while (over(nullptr)) {
        Node* other = victim(&node);
        if (!other)
            break;
        take_out(*other, EvictionCause::capacity, victims);
    }
    m_policy->inserted(node.resident);
}

Result<Departed> ResidentStore::evict_for(const Key& key, Room& room)
{
    Departed departed;
    const std::lock_guard lock(m_mutex);
    HEARTH_TRY(evict_for(m_table.peek(key), room, departed));
    return departed;
}

// Names entries to `room` in the policy's order until it has enough. Of those only the ones go that it needs: most of
// what comes first in that order lies elsewhere.
Status ResidentStore::evict_for(Node* spare, Room& room, Departed& departed)
{
    if (room.enough())
        return {};
    std::vector<Node*> named;
    bool enough = false;
    const auto name = [&](const Resident& next) {
        Node* const node = m_table.peek(next.key);
        if (node && node != spare) {
            named.push_back(node);
            enough = room.enough_without(*node);
        }
        return !enough;
    };
    if (!m_policy->for_each_victim(name) && !enough) {
        named.clear();
        std::vector<std::pair<std::uint64_t, Node*>> nodes;
        m_table.for_each([&](Node& node) { nodes.emplace_back(node.resident.last_used(), &node); });
        std::sort(nodes.begin(), nodes.end());
        for (std::size_t i = 0; i < nodes.size() && !enough; ++i)
            name(nodes[i].second->resident);
    }
    if (!enough && spare) {
        named.push_back(spare);
        enough = room.enough_without(*spare);
    }
    if (!enough)
        return room.refusal();
    for (Node* node : named)
        if (room.needs(*node))
            take_out(*node, EvictionCause::capacity, departed, node != spare);
    return {};
}

bool ResidentStore::remove(const Key& key)
{
    return remove_if(key, [](const Node&) { return true; });
}

bool ResidentStore::remove_if(const Key& key, const std::function<bool(const Node&)>& goes)
{
    Departed departed;
    const std::lock_guard lock(m_mutex);
    Node* node = m_table.peek(key);
    if (!node || !goes(*node))
        return false;
    take_out(*node, EvictionCause::capacity, departed);
    advance();
    return true;
}

std::uint64_t ResidentStore::remove_if(const std::function<bool(const Node&)>& goes)
{
    Departed departed;
    const std::lock_guard lock(m_mutex);
    std::vector<Node*> gone;
    m_table.for_each([&](Node& node) {
        if (goes(node))
            gone.push_back(&node);
    });
    for (Node* node : gone)
        take_out(*node, EvictionCause::capacity, departed);
    return gone.size();
}

void ResidentStore::clear()
{
    remove_if([](const Node&) { return true; });
}

TierUsage ResidentStore::usage() const
{
    const std::lock_guard lock(m_mutex);
    return {counted_bytes(), m_table.size()};
}

Limits ResidentStore::limits() const
{
    const std::lock_guard lock(m_mutex);
    return m_limits;
}

void ResidentStore::touch(const Key& key, std::uint32_t uses)
{
    const std::lock_guard lock(m_mutex);
    if (Node* node = m_table.peek(key)) {
        const std::uint64_t sum = std::uint64_t{node->resident.uses()} + uses;
        node->resident.set_uses(static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, Resident::k_max_uses)));
        node->resident.set_last_used(advance());
        m_policy->touched(node->resident);
    }
}

void ResidentStore::visit(const std::function<void(const Node&)>& visitor) const
{
    const std::lock_guard lock(m_mutex);
    m_table.for_each([&](Node& node) { visitor(node); });
}

bool ResidentStore::visit_one(const Key& key, const std::function<void(const Node&)>& visitor) const
{
    const std::lock_guard lock(m_mutex);
    const Node* node = m_table.peek(key);
    if (node)
        visitor(*node);
    return node != nullptr;
}

}  // namespace hearth::resident
