#include "resident/resident_table.hpp"

#include "base/of_process.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace hearth::resident {

namespace {

constexpr std::size_t k_first_capacity = 256;

}  // namespace

void* Node::operator new(std::size_t bytes)
{
    void* const whole = std::malloc(bytes + alignof(Node));
    if (!whole)
        throw std::bad_alloc();
    // malloc() aligns to 16 at least, so that a pointer fits in before the node.
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(whole) + alignof(Node);
    auto* const node = static_cast<std::byte*>(whole) + alignof(Node) - first % alignof(Node);
    std::memcpy(node - sizeof whole, &whole, sizeof whole);
    return node;
}

void Node::operator delete(void* node) noexcept
{
    if (!node)
        return;
    void* whole = nullptr;
    std::memcpy(&whole, static_cast<std::byte*>(node) - sizeof whole, sizeof whole);
    std::free(whole);
}

const Artifact& Node::about() const noexcept
{
    return base::of_process<const Artifact>();
}

ResidentTable::ResidentTable()
{
    base::prepare_barrier();
    m_tables.push_back(std::make_unique<Table>(k_first_capacity));
    m_current.store(m_tables.back().get(), std::memory_order_release);
}

ResidentTable::~ResidentTable()
{
    // Nodes under lease outlive the table: they are retired, not deleted.
    std::vector<base::Reclaimable*> nodes;
    for_each([&](Node& node) { nodes.push_back(&node); });
    base::retire(nodes);
}

ResidentTable::Protected ResidentTable::find_again(const Key& key) const noexcept
{
    // Nothing is there, or it moved while we looked. The version is read only now, so that hits never read it.
    const std::uint64_t version = m_version.load(std::memory_order_acquire);
    Protected again{probe(key), false};
    // acquire on the slots in probe(): had we seen any entry mid-move, we would now see the version that began the
    // move.
    again.unsure = !again.node && ((version & 1U) != 0 || m_version.load(std::memory_order_acquire) != version);
    return again;
}

std::size_t ResidentTable::locate(const Key& key) const noexcept
{
    const Table& table = *m_tables.back();
    const std::uint64_t tag = tag_of(key);
    for (std::size_t i = place_of(key) & table.mask;; i = (i + 1) & table.mask) {
        const Slot& slot = table.slots[i];
        const std::uint64_t seen = slot.tag.load(std::memory_order_relaxed);
        if (seen == 0)
            return k_nowhere;
        if (seen == tag && slot.node.load(std::memory_order_relaxed)->resident.key == key)
            return i;
    }
}

Node* ResidentTable::peek(const Key& key) const noexcept
{
    const std::size_t at = locate(key);
    return at == k_nowhere ? nullptr : m_tables.back()->slots[at].node.load(std::memory_order_relaxed);
}

void ResidentTable::place(Table& table, Node* node) noexcept
{
    std::size_t i = place_of(node->resident.key) & table.mask;
    while (table.slots[i].tag.load(std::memory_order_relaxed) != 0)
        i = (i + 1) & table.mask;
    table.slots[i].tag.store(tag_of(node->resident.key), std::memory_order_release);
    table.slots[i].node.store(node, std::memory_order_release);
}

Node* ResidentTable::put(Node* node)
{
    if (const std::size_t at = locate(node->resident.key); at != k_nowhere)
        return m_tables.back()->slots[at].node.exchange(node, std::memory_order_acq_rel);
    if ((m_size + 1) * 2 > m_tables.back()->mask + 1)
        grow();
    place(*m_tables.back(), node);
    ++m_size;
    return nullptr;
}

Node* ResidentTable::take(const Key& key) noexcept
{
    std::size_t gap = locate(key);
    if (gap == k_nowhere)
        return nullptr;
    Table& table = *m_tables.back();
    const std::uint64_t version = m_version.load(std::memory_order_relaxed);
    m_version.store(version + 1, std::memory_order_release);
    Node* taken = table.slots[gap].node.load(std::memory_order_relaxed);
    for (std::size_t i = (gap + 1) & table.mask;; i = (i + 1) & table.mask) {
        const std::uint64_t tag = table.slots[i].tag.load(std::memory_order_relaxed);
        if (tag == 0)
            break;
        Node* node = table.slots[i].node.load(std::memory_order_relaxed);
        // It may move into the gap unless its own place lies behind the gap, cyclically.
        const std::size_t home = place_of(node->resident.key) & table.mask;
        if (((i - home) & table.mask) < ((i - gap) & table.mask))
            continue;
        table.slots[gap].tag.store(tag, std::memory_order_release);
        table.slots[gap].node.store(node, std::memory_order_release);
        gap = i;
    }
    table.slots[gap].tag.store(0, std::memory_order_release);
    table.slots[gap].node.store(nullptr, std::memory_order_release);
    m_version.store(version + 2, std::memory_order_release);
    --m_size;
    return taken;
}

void ResidentTable::grow()
{
    auto next = std::make_unique<Table>((m_tables.back()->mask + 1) * 2);
    for_each([&](Node& node) { place(*next, &node); });
    m_tables.push_back(std::move(next));
    m_current.store(m_tables.back().get(), std::memory_order_release);
}

void ResidentTable::for_each(const std::function<void(Node&)>& visit) const
{
    for_some(0, m_tables.back()->mask + 1, visit);
}

std::size_t ResidentTable::for_some(std::size_t slot, std::size_t count, const std::function<void(Node&)>& visit) const
{
    const Table& table = *m_tables.back();
    const std::size_t size = table.mask + 1;
    const std::size_t end = std::min(size, slot + count);
    for (; slot < end; ++slot)
        if (Node* node = table.slots[slot].node.load(std::memory_order_relaxed))
            visit(*node);
    return slot < size ? slot : 0;
}

}  // namespace hearth::resident
