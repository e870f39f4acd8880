#include "engine/flights.hpp"

#include <utility>

namespace hearth::engine {

namespace {

thread_local int t_makes_on_this_thread = 0;
thread_local MakerLimit* t_place = nullptr;  // where the outermost of them counts; none while it has stepped aside

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

void MakerLimit::enter()
{
    if (t_makes_on_this_thread++ > 0 || m_most == 0)
        return;
    take_place();
    t_place = this;
}

void MakerLimit::leave()
{
    if (--t_makes_on_this_thread > 0 || !t_place)
        return;
    std::exchange(t_place, nullptr)->give_place();
}

void MakerLimit::take_place()
{
    std::unique_lock lock(m_mutex);
    m_left.wait(lock, [&] { return m_inside < m_most; });
    ++m_inside;
}

void MakerLimit::give_place()
{
    {
        const std::lock_guard lock(m_mutex);
        --m_inside;
    }
    m_left.notify_one();
}

MakerLimit::StepAside::StepAside() : m_place(std::exchange(t_place, nullptr))
{
    if (m_place)
        m_place->give_place();
}

MakerLimit::StepAside::~StepAside()
{
    if (m_place)
        m_place->take_place();
    t_place = m_place;
}

}  // namespace hearth::engine
