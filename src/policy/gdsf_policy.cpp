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

// Sums of products differ in their last digits.
constexpr double k_rounding = 1e-9;

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
    m_offered_up_to = k_none_offered;
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
    if (m_offered == &entry || place->second.rank <= m_offered_up_to)
        m_clock = std::max(m_clock, place->second.rank);
    m_offered = nullptr;
    dequeue(place->second);
    m_ranked.erase(place);
}

const Resident* GdsfPolicy::victim()
{
    m_offered = nullptr;
    m_offered_up_to = k_none_offered;
    // Other threads may hit as fast as entries are ranked again, so after one round the least is taken as it is.
    std::size_t moves_left = m_ranked.size();
    while (Ranked* const ranked = least()) {
        if (!was_used(*ranked) || moves_left == 0) {
            m_offered = ranked->entry;
            break;
        }
        --moves_left;
        rank_again(*ranked);
    }
    return m_offered;
}

bool GdsfPolicy::outweighs(const Resident& entry, std::uint64_t bytes, std::uint64_t entries)
{
    if (!(entry.cost > k_least_cost))
        return true;  // nobody knows what it is worth
    m_offered = nullptr;
    m_offered_up_to = k_none_offered;
    // The sum is rounded as a rank is. Then an entry like those that are here is worth no less than they are.
    const double clock_if_refused = m_clock + std::ldexp(1.0, std::ilogb(density(entry, entry.uses())));
    double left = (clock_if_refused - m_clock) * static_cast<double>(entry.bytes) * (1 + k_rounding);

    bool outweighs = true;
    walk([&](const Ranked& least) {
        if (bytes == 0 && entries == 0)
            return false;
        // Of the last one only the bytes that are needed count; so do those of one that goes for the number's sake.
        const std::uint64_t taken = std::min(least.entry->bytes, bytes != 0 ? bytes : entry.bytes);
        left -= std::max(least.rank - m_clock, 0.0) * static_cast<double>(taken);
        outweighs = left >= 0;
        bytes -= std::min(bytes, taken);
        entries -= std::min<std::uint64_t>(entries, 1);
        return outweighs;
    });
    if (!outweighs)
        m_clock = clock_if_refused;
    return outweighs;
}

bool GdsfPolicy::for_each_victim(const std::function<bool(const Resident&)>& visit)
{
    m_offered = nullptr;
    bool stopped = false;
    walk([&](const Ranked& least) {
        m_offered_up_to = least.rank;
        stopped = !visit(*least.entry);
        return !stopped;
    });
    if (!stopped)
        m_offered_up_to = k_none_offered;
    return true;
}

// All queues at once, least rank first: the order in which they would go.
template <class Visit>
void GdsfPolicy::walk(Visit&& visit)
{
    std::array<Ranked*, k_classes> next{};
    std::transform(m_queues.begin(), m_queues.end(), next.begin(), [](const Queue& queue) { return queue.head; });
    auto late = m_late.begin();
    std::size_t moves_left = m_ranked.size();
    for (;;) {
        Ranked* least = late == m_late.end() ? nullptr : late->second;
        for (Ranked* const head : next)
            if (head && (!least || head->rank < least->rank))
                least = head;
        if (!least)
            return;
        if (least->is_late)
            ++late;
        else
            next[least->queue] = least->after;
        if (was_used(*least) && moves_left > 0) {
            --moves_left;
            rank_again(*least);
            if (least->is_late) {
                if (late == m_late.end() || least->rank < late->first)
                    late = least->late_place;
            } else if (!next[least->queue]) {
                next[least->queue] = least;
            }
            continue;
        }
        if (!visit(*least))
            return;
    }
}

void GdsfPolicy::set_clock(double clock)
{
    if (is_believable(clock))
        m_clock = std::max(clock, k_first_clock);
}

bool GdsfPolicy::was_used(const Ranked& ranked)
{
    // A saturated count no longer changes; then the time of last use tells whether the entry was used.
    return ranked.entry->uses() != ranked.uses ||
           (ranked.uses >= Resident::k_max_uses && ranked.entry->last_used() != ranked.last_used);
}

void GdsfPolicy::rank_again(Ranked& ranked)
{
    ++m_work.requeues;
    dequeue(ranked);
    ranked.entry->aging = m_clock;
    enqueue(ranked);
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
