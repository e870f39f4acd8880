#include "engine/upkeep/upkeep.hpp"

#include "base/own_thread.hpp"

#include <condition_variable>
#include <mutex>

namespace hearth::engine {

Upkeep::Upkeep(const EngineOptions& options, Stack& stack, Statistics& statistics)
    : m_options(options), m_stack(stack), m_statistics(statistics)
{
}

Upkeep::~Upkeep()
{
    {
        const std::lock_guard lock(m_mutex);
        m_started = true;
        m_thread.request_stop();
    }
    if (m_thread.joinable())
        m_thread.join();
    m_stack.attempt("Writing uses and statistics down", [&] { flush(); });
}

void Upkeep::after_fork()
{
    base::forget_thread(m_thread);
    m_started = false;
}

void Upkeep::start()
{
    // acquire: pairs with the release below.
    if (m_options.maintenance != Maintenance::background || m_options.maintenance_interval.count() <= 0 ||
        m_started.load(std::memory_order_acquire))
        return;
    const std::lock_guard lock(m_mutex);
    // Where no thread can be had, the next store tries again. release: pairs with the acquire above.
    if (!m_started.load(std::memory_order_relaxed) &&
        base::try_start_thread(m_thread, [this](const std::stop_token& stop) { work(stop); }))
        m_started.store(true, std::memory_order_release);
}

void Upkeep::work(const std::stop_token& stop)
{
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock asleep(mutex);
    while (!stop.stop_requested()) {
        wake.wait_for(asleep, stop, m_options.maintenance_interval, [] { return false; });
        if (!stop.stop_requested())
            m_stack.attempt("Maintenance", [&] { maintain(stop); });
    }
}

void Upkeep::maintain(const std::stop_token& stop)
{
    m_stack.credits().tell();
    const Tiers& tiers = m_stack.tiers();
    for (std::size_t i = 0; i < tiers.size() && !stop.stop_requested(); ++i) {
        const Writes::Ticket read = m_stack.writes().now();
        m_stack.settle_victims(i, tiers[i]->maintain(stop), read);
    }
    m_statistics.write();
}

void Upkeep::flush()
{
    m_stack.credits().tell();
    for (const Place& tier : m_stack.tiers())
        tier->flush();
    m_statistics.write();
}

}  // namespace hearth::engine
