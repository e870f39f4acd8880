#include "policy/gdsf_policy.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace hearth {

namespace policy {

namespace {

constexpr double k_least_density = 0x1p-96;
constexpr double k_greatest_density = 0x1p31;
static_assert(GdsfPolicy::k_least_exponent == -96 && GdsfPolicy::k_classes == 31 + 96 + 1);

// If no cost is known, entries are still ranked by size and frequency.
constexpr double k_least_cost = 1e-9;
// A day: no compile takes longer. One entry that claims to be worth centuries would move the clock so far, once it is
// evicted, that what others are worth is lost in rounding.
constexpr double k_greatest_cost = 24 * 60 * 60;

// Stamps and clocks come back from disk. A value that no clock can have reached is not believed: it would keep its
// entry for ever, and every density added to it would be lost in rounding.
constexpr double k_greatest_clock = 0x1p48;

bool is_believable(double clock)
{
    return clock >= 0 && clock <= k_greatest_clock;
}

}  // namespace

double GdsfPolicy::density(const Resident& entry, std::uint32_t uses)
{
    // The first comparison is false for NaN, too.
    const double cost = entry.cost > k_least_cost ? std::min(entry.cost, k_greatest_cost) : k_least_cost;
    const double bytes = static_cast<double>(std::max<std::uint64_t>(entry.bytes, 1));
    return std::clamp((uses + 1.0) * cost / bytes, k_least_density, k_greatest_density);
}

void GdsfPolicy::inserted(const Resident& entry)
{
    m_offered = nullptr;
    const auto [place, is_new] = m_ranked.try_emplace(&entry);
    if (!is_new)
        return;
    if (entry.aging == 0 || !is_believable(entry.aging))
        entry.aging = m_clock;
    // A stamp is a clock once read, here or by another process, so the clock is never behind one.
    m_clock = std::max(m_clock, entry.aging);
    place->second.entry = &entry;
    enqueue(place->second);
}

void GdsfPolicy::removed(const Resident& entry)
{
    const auto place = m_ranked.find(&entry);
    if (place == m_ranked.end())
        return;
    // Only an eviction moves the clock: an entry that is replaced or removed by hand does not show what room is worth.
    // The clock moves to the rounded worth, by which entries were compared. With the exact worth it would run ahead of
    // the entries that stay, each newcomer would rank above all of them, and the policy would become a FIFO.
    if (m_offered == &entry)
        m_clock = std::max(m_clock, place->second.rank);
    m_offered = nullptr;
    dequeue(place->second);
    m_ranked.erase(place);
}

const Resident* GdsfPolicy::victim()
{
    m_offered = nullptr;
    // Other threads may hit as fast as entries are ranked again, so after one round the least is taken as it is.
    std::size_t moves_left = m_ranked.size();
    while (Ranked* const ranked = least()) {
        const Resident& entry = *ranked->entry;
        // A saturated count no longer changes; then the time of last use tells whether the entry was used.
        const bool was_used = entry.uses() != ranked->uses ||
                              (ranked->uses >= Resident::k_max_uses && entry.last_used() != ranked->last_used);
        if (!was_used || moves_left == 0) {
            m_offered = &entry;
            break;
        }
        --moves_left;
        ++m_work.requeues;
        dequeue(*ranked);
        entry.aging = m_clock;
        enqueue(*ranked);
    }
    return m_offered;
}

void GdsfPolicy::set_clock(double clock)
{
    if (is_believable(clock))
        m_clock = std::max(clock, k_first_clock);
}

void GdsfPolicy::enqueue(Ranked& ranked)
{
    const Resident& entry = *ranked.entry;
    ranked.uses = entry.uses();
    ranked.last_used = entry.last_used();
    const int exponent = std::ilogb(density(entry, ranked.uses));
    ranked.queue = static_cast<std::size_t>(exponent - k_least_exponent);
    ranked.rank = entry.aging + std::ldexp(1.0, exponent);

    Queue& queue = m_queues[ranked.queue];
    ranked.is_late = queue.tail != nullptr && ranked.rank < queue.tail->rank;
    if (ranked.is_late) {
        ranked.late_place = m_late.emplace(ranked.rank, &ranked);
        return;
    }
    ranked.before = queue.tail;
    ranked.after = nullptr;
    (queue.tail ? queue.tail->after : queue.head) = &ranked;
    queue.tail = &ranked;
    m_filled[ranked.queue / 64] |= std::uint64_t{1} << (ranked.queue % 64);
}

void GdsfPolicy::dequeue(Ranked& ranked)
{
    if (ranked.is_late) {
        m_late.erase(ranked.late_place);
        return;
    }
    Queue& queue = m_queues[ranked.queue];
    (ranked.before ? ranked.before->after : queue.head) = ranked.after;
    (ranked.after ? ranked.after->before : queue.tail) = ranked.before;
    if (!queue.head)
        m_filled[ranked.queue / 64] &= ~(std::uint64_t{1} << (ranked.queue % 64));
}

GdsfPolicy::Ranked* GdsfPolicy::least()
{
    Ranked* found = m_late.empty() ? nullptr : m_late.begin()->second;
    for (std::size_t word = 0; word < m_filled.size(); ++word) {
        for (std::uint64_t left = m_filled[word]; left != 0; left &= left - 1) {
            Ranked* const head = m_queues[word * 64 + static_cast<std::size_t>(std::countr_zero(left))].head;
            ++m_work.heads_examined;
            if (!found || head->rank < found->rank)
                found = head;
        }
    }
    return found;
}

}  // namespace policy

PolicyFactory gdsf(PolicyOptions options)
{
    return [options] { return std::make_unique<policy::GdsfPolicy>(options); };
}

}  // namespace hearth
