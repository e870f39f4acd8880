#include "engine/flights.hpp"

namespace hearth::engine {

namespace {

thread_local int t_makes_on_this_thread = 0;

}  // namespace

std::optional<Result<SharedArtifact>>
Flights::Flight::wait(std::optional<std::chrono::steady_clock::time_point> deadline)
{
    std::unique_lock lock(m_mutex);
    const auto landed = [&] { return m_result.has_value(); };
    if (!deadline)
        m_landed.wait(lock, landed);
    else if (!m_landed.wait_until(lock, *deadline, landed))
        return std::nullopt;
    return m_result;
}

Flights::Boarding Flights::board(const Key& key)
{
    const std::lock_guard lock(m_mutex);
    std::shared_ptr<Flight>& flight = m_flights[key];
    if (flight)
        return {flight, false};
    flight = std::make_shared<Flight>();
    return {flight, true};
}

void Flights::land(const Key& key, const std::shared_ptr<Flight>& flight, Result<SharedArtifact> result)
{
    {
        const std::lock_guard lock(m_mutex);
        m_flights.erase(key);
    }
    {
        const std::lock_guard lock(flight->m_mutex);
        flight->m_result.emplace(std::move(result));
    }
    flight->m_landed.notify_all();
}

bool MakerLimit::enter(std::optional<std::chrono::steady_clock::time_point> deadline)
{
    if (t_makes_on_this_thread++ > 0 || m_most == 0)
        return true;
    std::unique_lock lock(m_mutex);
    const auto room = [&] { return m_inside < m_most; };
    if (!deadline) {
        m_left.wait(lock, room);
    } else if (!m_left.wait_until(lock, *deadline, room)) {
        --t_makes_on_this_thread;
        return false;
    }
    ++m_inside;
    return true;
}

void MakerLimit::leave()
{
    if (--t_makes_on_this_thread > 0 || m_most == 0)
        return;
    {
        const std::lock_guard lock(m_mutex);
        --m_inside;
    }
    m_left.notify_one();
}

}  // namespace hearth::engine
