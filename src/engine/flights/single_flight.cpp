#include "engine/flights/single_flight.hpp"

#include "base/error.hpp"

#include <utility>

namespace hearth::engine {

SingleFlight::Landing::Landing(SingleFlight& flights, const Key& key, std::shared_ptr<Flight> flight)
    : result(Error{Code::unavailable, {}, {}}), m_flights(flights), m_key(key), m_flight(std::move(flight)),
      m_doing(m_flight->m_work)
{
    // Nothing is allocated here: from the boarding on, those who wait rely on the destructor.
}

SingleFlight::Landing::~Landing()
{
    if (!result && result.error().message.empty())
        try {
            result = error(Code::unavailable, "The thread that was to compile entry {} failed before it had a result.",
                           m_key.hex());
        } catch (...) {
            // There is no memory even to say so.
        }
    m_flights.land(m_key, *m_flight, std::move(result));
}

std::optional<Result<SharedArtifact>>
SingleFlight::Flight::wait(std::optional<std::chrono::steady_clock::time_point> deadline)
{
    std::unique_lock lock(m_mutex);
    const auto landed = [&] { return m_result.has_value(); };
    if (!deadline)
        m_landed.wait(lock, landed);
    else if (!m_landed.wait_until(lock, *deadline, landed))
        return std::nullopt;
    return m_result;
}

SingleFlight::Boarding SingleFlight::board(const Key& key)
{
    const std::lock_guard lock(m_mutex);
    std::shared_ptr<Flight>& flight = m_flights[key];
    if (flight)
        return {flight, false};
    flight = std::make_shared<Flight>(key);
    return {flight, true};
}

void SingleFlight::land(const Key& key, Flight& flight, Result<SharedArtifact> result)
{
    {
        const std::lock_guard lock(m_mutex);
        m_flights.erase(key);
    }
    {
        const std::lock_guard lock(flight.m_mutex);
        flight.m_result.emplace(std::move(result));
    }
    flight.m_landed.notify_all();
}

}  // namespace hearth::engine
