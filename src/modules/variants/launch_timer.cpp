#include "modules/variants/launch_timer.hpp"

namespace hearth::cuda {

namespace {

constexpr std::size_t k_most_under_way = 64;

}  // namespace

LaunchTimer::~LaunchTimer()
{
    const gpu::ScopedContext context(m_driver, m_context);
    if (!context.ok())
        return;  // the events went with it
    const gpu::AllowedInCapture allowed(m_driver);
    for (const UnderWay& launch : m_under_way)
        m_free.push_back(launch.events);
    for (const Events& events : m_free) {
        m_driver.destroy_event(events.before);
        m_driver.destroy_event(events.after);
    }
}

bool LaunchTimer::has_room() const noexcept
{
    return m_under_way.size() < k_most_under_way;
}

std::optional<LaunchTimer::Events> LaunchTimer::begin(CUstream_st* stream)
{
    const gpu::AllowedInCapture allowed(m_driver);
    Events events;
    if (!m_free.empty()) {
        events = m_free.back();
        m_free.pop_back();
    } else {
        if (m_driver.create_event(&events.before, gpu::cuda::k_event_timing) != gpu::cuda::k_success)
            return std::nullopt;
        if (m_driver.create_event(&events.after, gpu::cuda::k_event_timing) != gpu::cuda::k_success) {
            m_driver.destroy_event(events.before);
            return std::nullopt;
        }
    }
    if (m_driver.record_event(events.before, stream) == gpu::cuda::k_success)
        return events;
    m_free.push_back(events);
    return std::nullopt;
}

void LaunchTimer::end(const Events& events, const Rounds::Turn& turn, CUstream_st* stream, Rounds& rounds)
{
    const gpu::AllowedInCapture allowed(m_driver);
    if (m_driver.record_event(events.after, stream) == gpu::cuda::k_success) {
        m_under_way.push_back({events, turn});
        return;
    }
    rounds.lose(turn);
    m_free.push_back(events);
}

void LaunchTimer::collect(Rounds& rounds)
{
    const gpu::AllowedInCapture allowed(m_driver);
    while (!m_under_way.empty()) {
        const UnderWay& launch = m_under_way.front();
        const int state = m_driver.query_event(launch.events.after);
        if (state == gpu::cuda::k_not_ready)
            return;
        float milliseconds = 0;
        if (state == gpu::cuda::k_success &&
            m_driver.event_time(&milliseconds, launch.events.before, launch.events.after) == gpu::cuda::k_success)
            rounds.add(launch.turn, static_cast<double>(milliseconds) * 1e6);
        else
            rounds.lose(launch.turn);
        m_free.push_back(launch.events);
        m_under_way.pop_front();
    }
}

}  // namespace hearth::cuda
