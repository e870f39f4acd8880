#include "tiers/vram/parked_leases.hpp"

#include "base/of_process.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>

namespace hearth::tiers {

ParkedLeases& ParkedLeases::of_process()
{
    return base::of_process<ParkedLeases>();
}

void ParkedLeases::park(std::unique_ptr<gpu::StreamPoint> point, base::HazardSlot* slot)
{
    end_passed();
    const std::lock_guard lock(m_mutex);
    m_parked.push_back({std::move(point), slot});
    m_count.fetch_add(1, std::memory_order_relaxed);
}

void ParkedLeases::end_passed()
{
    if (m_count.load(std::memory_order_relaxed) == 0)
        return;
    std::vector<Parked> looked_at;
    {
        const std::lock_guard lock(m_mutex);
        looked_at.swap(m_parked);
    }
    const auto passed = std::partition(looked_at.begin(), looked_at.end(),
                                       [](const Parked& parked) { return !parked.point->passed(); });
    for (auto one = passed; one != looked_at.end(); ++one) {
        one->point.reset();  // before the lease, which keeps its memory
        base::release_slot(one->slot);
    }
    m_count.fetch_sub(static_cast<std::size_t>(looked_at.end() - passed), std::memory_order_relaxed);
    looked_at.erase(passed, looked_at.end());
    const std::lock_guard lock(m_mutex);
    m_parked.insert(m_parked.end(), std::make_move_iterator(looked_at.begin()),
                    std::make_move_iterator(looked_at.end()));
}

}  // namespace hearth::tiers
