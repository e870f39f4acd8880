#include "remote/write_behind.hpp"

#include "base/own_thread.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

namespace hearth::remotes {

namespace {

constexpr std::size_t k_batch_entries = 64;
constexpr std::uint64_t k_batch_bytes = 4_MiB;
// The time between two tries to send what failed. The breaker decides whether the server is really asked.
constexpr std::chrono::milliseconds k_try_again(200);
constexpr std::chrono::hours k_long(24);

}  // namespace

WriteBehind::WriteBehind(Bounds bounds, Send send, Tick tick)
    : m_bounds(bounds), m_send(std::move(send)), m_tick(std::move(tick))
{
}

WriteBehind::~WriteBehind()
{
    stop(std::chrono::milliseconds(0));
}

bool WriteBehind::add(Outgoing outgoing)
{
    {
        const std::lock_guard lock(m_mutex);
        const bool object = outgoing.kind == Outgoing::Kind::object;
        if (m_ending || (object && (m_waiting.entries + 1 > m_bounds.entries ||
                                    m_waiting.bytes + outgoing.bytes.size() > m_bounds.bytes)))
            return false;
        if (object) {
            ++m_waiting.entries;
            m_waiting.bytes += outgoing.bytes.size();
        }
        m_queue.push_back(std::move(outgoing));
        m_woken = true;
        start_thread();
    }
    m_changed.notify_all();
    return true;
}

void WriteBehind::wake()
{
    {
        const std::lock_guard lock(m_mutex);
        m_woken = true;
        start_thread();
    }
    m_changed.notify_all();
}

// Called under the lock.
void WriteBehind::start_thread()
{
    if (m_running || m_ending)
        return;
    m_running = true;
    m_thread = base::start_thread([this] { work(); });
}

void WriteBehind::work()
{
    std::unique_lock lock(m_mutex);
    bool failed = false;
    for (;;) {
        m_woken = false;
        lock.unlock();
        const std::chrono::milliseconds tick = m_tick();
        lock.lock();
        const bool out_of_time = m_ending && std::chrono::steady_clock::now() >= m_end;
        if (out_of_time || (m_ending && m_queue.empty()))
            return;
        if (m_queue.empty() || failed) {
            failed = false;
            auto pause = tick.count() > 0 ? tick : std::chrono::milliseconds(k_long);
            if (!m_queue.empty())
                pause = std::min(pause, k_try_again);
            m_changed.wait_for(lock, pause, [&] { return m_woken || m_ending; });
            // New work does not repair a server: what failed is tried again only when its time has come.
            if (m_queue.empty())
                continue;
        }
        std::vector<Outgoing> batch;
        std::uint64_t bytes = 0;
        while (!m_queue.empty() && batch.size() < k_batch_entries && (batch.empty() || bytes < k_batch_bytes)) {
            bytes += m_queue.front().bytes.size();
            batch.push_back(std::move(m_queue.front()));
            m_queue.pop_front();
        }
        lock.unlock();
        const std::vector<bool> done = m_send(batch);
        lock.lock();
        for (std::size_t i = batch.size(); i > 0; --i) {
            Outgoing& one = batch[i - 1];
            if (!done[i - 1]) {
                failed = true;
                m_queue.push_front(std::move(one));
            } else if (one.kind == Outgoing::Kind::object) {
                --m_waiting.entries;
                m_waiting.bytes -= one.bytes.size();
            }
        }
        m_changed.notify_all();
    }
}

bool WriteBehind::flush(std::chrono::milliseconds limit)
{
    std::unique_lock lock(m_mutex);
    return m_changed.wait_for(lock, limit, [&] { return !m_running || m_waiting.entries == 0; });
}

std::uint64_t WriteBehind::stop(std::chrono::milliseconds limit)
{
    {
        const std::lock_guard lock(m_mutex);
        if (!m_ending) {
            m_ending = true;
            m_end = std::chrono::steady_clock::now() + limit;
        }
    }
    m_changed.notify_all();
    if (m_thread.joinable())
        m_thread.join();
    const std::lock_guard lock(m_mutex);
    m_queue.clear();
    return std::exchange(m_waiting, {}).entries;
}

WriteBehind::Waiting WriteBehind::waiting() const
{
    const std::lock_guard lock(m_mutex);
    return m_waiting;
}

void WriteBehind::forget_parent() noexcept
{
    m_queue.clear();
    m_waiting = {};
    m_running = false;
    // Replaced, not destroyed: its internal lock may be held by a thread that does not exist in the child.
    std::construct_at(&m_changed);
    if (m_thread.joinable())
        m_thread.detach();
}

}  // namespace hearth::remotes
