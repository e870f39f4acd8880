// Flights of other processes of this machine, and of other nodes.

#include "base/clock.hpp"
#include "engine/flights/flights.hpp"

#include <algorithm>
#include <thread>

namespace hearth::engine {

std::unique_ptr<hearth::Flight> Flights::wait_for_machine(const Order& order, SharedArtifact& found)
{
    Tier* const keeper = m_tiers.writable_keeper();
    if (!keeper)
        return nullptr;
    const auto give_up = std::chrono::steady_clock::now() + m_options.flight_wait;
    auto pause = std::chrono::microseconds(500);
    bool waited = false;
    for (;;) {
        FlightAttempt attempt = keeper->try_flight(order.key);
        const bool held = attempt.outcome == FlightAttempt::Outcome::held;
        // Whoever held it before us has most likely stored what we want.
        if (held || waited) {
            found = m_stack.peek_here(order.key, order.options.kind).share();
            if (found)
                return nullptr;
        }
        if (attempt.outcome != FlightAttempt::Outcome::busy)
            return std::move(attempt.flight);
        if (std::chrono::steady_clock::now() >= give_up)
            return nullptr;  // the holder takes too long: we compile rather than wait for ever
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(10000));
        waited = true;
    }
}

// The same for other nodes, by the first remote that keeps leases. What another node has compiled is brought home.
std::unique_ptr<hearth::Flight> Flights::wait_for_fleet(const Key& key, SharedArtifact& found)
{
    const auto give_up = std::chrono::steady_clock::now() + m_options.flight_wait;
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        Tier& tier = *m_tiers[i].tier;
        if (!m_tiers[i].traits.remote)
            continue;
        const auto look = [&] {
            const Writes::Ticket read = m_stack.writes().now();
            const Found there = tier.peek(key);
            if (there) {
                m_stack.bring_home(i, key, there.as_entry(), read);
                found = there.artifact.share();
            }
            return static_cast<bool>(there);
        };
        FlightAttempt attempt = tier.try_flight(key);
        auto pause = std::chrono::microseconds(5000);
        for (int asked = 1; attempt.outcome == FlightAttempt::Outcome::busy; ++asked) {
            if (std::chrono::steady_clock::now() >= give_up)
                return nullptr;  // better to compile it twice than to wait without end
            // Thousands may wait for the same key: each asks at its own time, and less and less often.
            std::this_thread::sleep_for(pause * 3 / 4 + pause * (base::monotonic_ns() % 512) / 1024);
            pause = std::min(pause * 2, std::chrono::microseconds(500'000));
            if (look())
                return nullptr;
            // The lease is only asked for now and then, in case its holder is dead.
            if (asked % 4 == 0)
                attempt = tier.try_flight(key);
        }
        if (attempt.outcome != FlightAttempt::Outcome::held)
            continue;
        // If another node held the lease since we looked, it has sent what we want.
        if (look())
            return nullptr;
        return std::move(attempt.flight);
    }
    return nullptr;
}

}  // namespace hearth::engine
