// Entries that leave only once somebody has agreed: named first, set aside, then taken out or put back.

#include "policy/outweighed.hpp"
#include "resident/resident_store.hpp"

#include <algorithm>
#include <limits>

namespace hearth::resident {

// No limit is a limit too: a count has 64 bits.
std::uint64_t ResidentStore::most_bytes() const noexcept
{
    return m_limits.max_bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : m_limits.max_bytes;
}

// No sum here wraps round, however large an entry says it is.
bool ResidentStore::fits(const Resident* entry, const Node* spare, std::uint64_t leaving_bytes,
                         std::uint64_t leaving_entries) const
{
    const std::uint64_t most = most_bytes();
    const std::uint64_t staying = m_bytes - (spare ? spare->resident.bytes : 0) - leaving_bytes;
    if (staying > most || m_reserved_bytes > most - staying)
        return false;
    if (entry && entry->bytes > most - staying - m_reserved_bytes)
        return false;
    const std::uint64_t entries =
        m_table.size() - (spare ? 1 : 0) - leaving_entries + m_reserved_entries + (entry ? 1 : 0);
    return m_limits.max_entries == 0 || entries <= m_limits.max_entries;
}

bool ResidentStore::outweighs_those_that_leave(const Resident& entry)
{
    if (fits(&entry, nullptr, 0, 0))
        return true;
    const std::uint64_t taken = m_bytes + std::min(m_reserved_bytes, ~m_bytes);
    const std::uint64_t most = most_bytes();
    const std::uint64_t room = most - std::min(most, taken);
    return m_policy->outweighs(entry, entry.bytes - std::min(entry.bytes, room),
                               policy::excess(m_table.size() + m_reserved_entries + 1, m_limits.max_entries));
}

// A user's own policy may name none, or one that it was told is gone: then any other.
Node* ResidentStore::next_to_go()
{
    const Resident* const named = m_policy->victim();
    Node* node = named ? m_table.peek(named->key) : nullptr;
    if (node && !m_aside.contains(node))
        return node;
    node = nullptr;
    if (m_aside.size() < m_table.size())
        m_table.for_each([&](Node& any) { node = node || m_aside.contains(&any) ? node : &any; });
    return node;
}

void ResidentStore::set_aside(Node& node)
{
    if (m_aside.insert(&node).second)
        m_policy->removed(node.resident);
}

Result<ResidentStore::Offer> ResidentStore::ask_for_room(const Resident* entry, Weigh weigh,
                                                         const std::function<bool(Node&)>& may_go)
{
    const std::lock_guard lock(m_mutex);
    if (entry) {
        if (std::optional<Error> refused = refusal(*entry))
            return *std::move(refused);
    }
    Offer offer;
    std::uint64_t leaving_bytes = 0;
    std::vector<Node*> passed_over;
    const Node* const spare = entry ? m_table.peek(entry->key) : nullptr;
    // One that replaces another is not weighed.
    if (entry && !spare && weigh == Weigh::yes && !outweighs_those_that_leave(*entry))
        return policy::outweighed(m_name, entry->bytes);
    while (!fits(entry, spare, leaving_bytes, offer.victims.size())) {
        Node* const node = next_to_go();
        if (!node) {
            offer.answer = Offer::Answer::full;
            break;
        }
        set_aside(*node);
        if (!may_go(*node)) {
            passed_over.push_back(node);
            continue;
        }
        offer.victims.push_back(node);
        offer.answer = Offer::Answer::after_victims;
        leaving_bytes += node->resident.bytes;
    }
    // In the order in which they were named, so that the policy ranks them among each other as before.
    for (Node* const node : passed_over)
        if (m_aside.erase(node) != 0)
            m_policy->inserted(node->resident);
    if (entry && offer.answer == Offer::Answer::reserved) {
        m_reserved_bytes += entry->bytes;
        ++m_reserved_entries;
    }
    return offer;
}

void ResidentStore::put_back(Node& node)
{
    const std::lock_guard lock(m_mutex);
    if (m_aside.erase(&node) != 0)
        m_policy->inserted(node.resident);
}

Departed ResidentStore::take(Node& node)
{
    Departed departed;
    const std::lock_guard lock(m_mutex);
    if (m_aside.erase(&node) == 0)
        m_policy->removed(node.resident);
    m_table.take(node.resident.key);
    count_out(node);
    departed.add(&node, EvictionCause::capacity, true);
    return departed;
}

Departed ResidentStore::place(std::unique_ptr<Node> node)
{
    Departed old;
    const std::lock_guard lock(m_mutex);
    m_policy->inserted(put_counted(std::move(node), old).resident);
    return old;
}

void ResidentStore::change_limits(const Limits& limits)
{
    const std::lock_guard lock(m_mutex);
    note_limits(limits);
}

}  // namespace hearth::resident
