#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace hearth::cuda {

// Values that are added and never removed, so that a reader needs neither a lock nor an announcement. A value stays
// where it is as long as the list lives.
// Thread safety: all of it. Cost: find() reads the list from its newest value to its oldest, and writes nothing.
template <class T>
class GrowingList {
public:
    GrowingList() = default;
    GrowingList(const GrowingList&) = delete;
    GrowingList& operator=(const GrowingList&) = delete;
    ~GrowingList()
    {
        for (const Node* node = m_first.load(std::memory_order_acquire); node != nullptr;)
            delete std::exchange(node, node->next);
    }

    // relaxed: nothing is read on the strength of it.
    bool empty() const noexcept { return m_first.load(std::memory_order_relaxed) == nullptr; }

    // Null: there is none.
    template <class Matches>
    const T* find(const Matches& matches) const noexcept
    {
        // acquire: pairs with the release in add(), so that the node and all behind it are seen filled in.
        return find_from(m_first.load(std::memory_order_acquire), matches);
    }

    // The value that matches: `value`, or another thread's that was faster.
    template <class Matches>
    const T& add(T value, const Matches& matches)
    {
        auto node = std::make_unique<Node>(Node{std::move(value), nullptr});
        const Node* first = m_first.load(std::memory_order_acquire);
        do {
            if (const T* other = find_from(first, matches))
                return *other;
            node->next = first;
            // release: pairs with the acquire in find(). acquire on failure: what came in between is read.
        } while (
            !m_first.compare_exchange_weak(first, node.get(), std::memory_order_release, std::memory_order_acquire));
        return node.release()->value;
    }

private:
    struct Node {
        T value;
        const Node* next;
    };

    template <class Matches>
    static const T* find_from(const Node* node, const Matches& matches)
    {
        for (; node != nullptr; node = node->next)
            if (matches(node->value))
                return &node->value;
        return nullptr;
    }

    std::atomic<const Node*> m_first{nullptr};
};

}  // namespace hearth::cuda
