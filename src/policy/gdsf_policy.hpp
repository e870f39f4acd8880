#pragma once

#include "hearth/policy.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

namespace hearth::policy {

// Greedy-Dual-Size-Frequency with cost. An entry is worth its stamp plus its density, (uses + 1) x cost / bytes; the
// stamp is the policy's clock when the entry was ranked. The entry that is worth least goes first, and the clock moves
// up to its worth. So an entry that is no longer used, however dense, is overtaken in the end by those that come later.
//
// It is lazy: a hit is only counted. There is one queue for each power of two of the density, in the order of stamps.
// So the head of a queue is its least, and the victim is the least of at most k_classes heads. A head that was used
// since it was ranked is ranked again, at the present clock, and the next least is looked at. The victim's density is
// then less than twice that of the exact choice, and each hit causes at most one such move.
//
// Thread safety: as Policy says; hits may be counted while victim() runs. Ownership: none; entries belong to the tier.
// Cost: O(1) per operation; O(log n) for an entry brought back with a stamp older than those in its queue.
class GdsfPolicy final : public Policy {
public:
    // Densities are held between 2^-96 and 2^31 seconds a byte: wider than a nanosecond over 16 EiB, and nine hours,
    // used 65,535 times, over one byte.
    static constexpr int k_least_exponent = -96;
    static constexpr std::size_t k_classes = 128;
    // Not 0: that is how a Resident says that it was never stamped.
    static constexpr double k_first_clock = 0x1p-96;

    static constexpr double k_none_offered = -1;

    // What victim() has done so far, as a measure of its cost.
    struct Work {
        std::uint64_t heads_examined = 0;
        std::uint64_t requeues = 0;
    };

    explicit GdsfPolicy(PolicyOptions options) : m_options(options) {}

    void inserted(const Resident& entry) override;
    void removed(const Resident& entry) override;
    const Resident* victim() override;
    bool for_each_victim(const std::function<bool(const Resident&)>& visit) override;
    // Compares what it costs to compile the entry with what it would cost to compile those that would go, as far as
    // they have not aged. A refusal ages all others by what a byte of the entry is worth. So refusals cost no more than
    // what they protect is worth, and then the entry is let in.
    bool outweighs(const Resident& entry, std::uint64_t bytes, std::uint64_t entries) override;

    bool promote(const Resident& entry) const override { return entry.uses() >= m_options.promote_after; }

    double clock() const override { return m_clock; }
    void set_clock(double clock) override;

    static double density(const Resident& entry, std::uint32_t uses);
    const Work& work() const { return m_work; }

private:
    // An entry and what was known of it when it was last ranked. It is in a queue, or in m_late.
    struct Ranked {
        const Resident* entry = nullptr;
        std::uint32_t uses = 0;
        std::uint64_t last_used = 0;
        std::size_t queue = 0;
        double rank = 0;  // its stamp plus its density, the latter rounded down to a power of two
        bool is_late = false;
        Ranked* before = nullptr;
        Ranked* after = nullptr;
        std::multimap<double, Ranked*>::iterator late_place;
    };
    struct Queue {
        Ranked* head = nullptr;
        Ranked* tail = nullptr;
    };

    static bool was_used(const Ranked& ranked);
    void rank_again(Ranked& ranked);
    void enqueue(Ranked& ranked);
    void dequeue(Ranked& ranked);
    Ranked* least();
    template <class Visit>
    void walk(Visit&& visit);

    const PolicyOptions m_options;
    double m_clock = k_first_clock;
    std::unordered_map<const Resident*, Ranked> m_ranked;
    std::array<Queue, k_classes> m_queues{};
    std::array<std::uint64_t, k_classes / 64> m_filled{};  // a bit for each queue that is not empty
    // Entries that came with a stamp older than their queue's tail, least rank first; equal ones in order of arrival.
    std::multimap<double, Ranked*> m_late;
    const Resident* m_offered = nullptr;  // what victim() last returned, while nothing has changed since
    // What is worth no more was offered by for_each_victim(), while nothing was inserted since.
    double m_offered_up_to = k_none_offered;
    Work m_work;
};

}  // namespace hearth::policy
