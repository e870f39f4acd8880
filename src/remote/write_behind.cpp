#include "remote/write_behind.hpp"

#include "base/own_thread.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <new>

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

// Called from destructors, too: nothing is thrown, and where there is no memory or no thread, there is no room either.
bool WriteBehind::add(Outgoing outgoing) noexcept
try {
    {
        const std::lock_guard lock(m_mutex);
        const bool object = outgoing.kind == Outgoing::Kind::object;
        if (m_ending || (object && (m_waiting.entries + 1 > m_bounds.entries ||
                                    m_waiting.bytes + outgoing.bytes.size() > m_bounds.bytes)))
            return false;
        if (!has_thread())
            return false;
        const std::uint64_t bytes = outgoing.bytes.size();
        // An older value must not be sent with it, since a server may take both at once, nor after it.
        if (object)
            static_cast<void>(forget_object(outgoing.name));
        m_queue.push_back(std::move(outgoing));
        if (object) {
            ++m_waiting.entries;
            m_waiting.bytes += bytes;
        }
        m_woken = true;
    }
    m_changed.notify_all();
    return true;
} catch (...) {
    return false;
}

void WriteBehind::wake()
{
    {
        const std::lock_guard lock(m_mutex);
        m_woken = true;
        static_cast<void>(has_thread());
    }
    m_changed.notify_all();
}

// Starts the thread if there is none. Called under the lock.
bool WriteBehind::has_thread() noexcept
{
    if (!m_running && !m_ending)
        m_running = base::try_start_thread(m_thread, [this] { work(); });
    return m_running;
}

// What is thrown, such as std::bad_alloc, is a failure like another: it is tried again later.
std::vector<bool> WriteBehind::send(std::span<Outgoing> batch) const noexcept
try {
    return m_send(batch);
} catch (...) {
    return {};
}

std::chrono::milliseconds WriteBehind::tick() const noexcept
try {
    return m_tick();
} catch (...) {
    return k_try_again;
}

void WriteBehind::work()
{
    std::unique_lock lock(m_mutex);
    bool failed = false;
    for (;;) {
        m_woken = false;
        lock.unlock();
        const std::chrono::milliseconds again = tick();
        lock.lock();
        const bool out_of_time = m_ending && std::chrono::steady_clock::now() >= m_end;
        if (out_of_time || (m_ending && is_idle()))
            return;
        if (m_queue.empty() || failed) {
            failed = false;
            auto pause = again.count() > 0 ? again : std::chrono::milliseconds(k_long);
            if (!m_queue.empty())
                pause = std::min(pause, k_try_again);
            m_changed.wait_for(lock, pause, [&] { return m_woken || m_ending; });
            // New work does not repair a server: what failed is tried again only when its time has come.
            if (m_queue.empty())
                continue;
        }
        std::vector<Outgoing> batch = take_batch();
        failed = batch.empty();
        if (failed)
            continue;
        lock.unlock();
        const std::vector<bool> done = send(batch);
        lock.lock();
        failed = !settle_batch(batch, done);
        m_changed.notify_all();
    }
}

// Whether there is nothing to send but what rests. Called under the lock.
bool WriteBehind::is_idle() const
{
    return m_sending.empty() && std::ranges::all_of(m_queue, &Outgoing::rests);
}

// As much as there is memory for.
std::vector<Outgoing> WriteBehind::take_batch() noexcept
{
    std::vector<Outgoing> batch;
    try {
        std::uint64_t bytes = 0;
        batch.reserve(k_batch_entries);
        m_sending.reserve(k_batch_entries);
        while (!m_queue.empty() && batch.size() < k_batch_entries && (batch.empty() || bytes < k_batch_bytes)) {
            bytes += m_queue.front().bytes.size();
            m_sending.push_back({m_queue.front().name});
            // From here on nothing is allocated: what leaves the queue is in the batch.
            batch.push_back(std::move(m_queue.front()));
            m_queue.pop_front();
        }
    } catch (const std::bad_alloc&) {
        return batch;
    }
    return batch;
}

// What is to be tried again goes back to the front; what rests, to the end, behind what others can be sent. Returns
// whether to go on at once.
bool WriteBehind::settle_batch(std::vector<Outgoing>& batch, const std::vector<bool>& done) noexcept
{
    std::size_t settled = 0;
    bool failed = false;
    const auto is_settled = [&](std::size_t i) { return (i < done.size() && done[i]) || m_sending[i].dropped; };
    for (std::size_t i = batch.size(); i-- > 0;) {
        if (is_settled(i)) {
            forget(batch[i]);
            ++settled;
        } else if (!batch[i].rests) {
            failed = true;
            put_back(batch[i], End::front);
        }
    }
    for (std::size_t i = 0; i < batch.size(); ++i)
        if (!is_settled(i) && batch[i].rests)
            put_back(batch[i], End::back);
    m_sending.clear();
    return !failed && settled != 0;
}

void WriteBehind::put_back(Outgoing& outgoing, End end) noexcept
try {
    if (end == End::front)
        m_queue.push_front(std::move(outgoing));
    else
        m_queue.push_back(std::move(outgoing));
} catch (...) {
    forget(outgoing);
    ++m_lost;
}

void WriteBehind::forget(const Outgoing& outgoing)
{
    if (outgoing.kind != Outgoing::Kind::object)
        return;
    --m_waiting.entries;
    m_waiting.bytes -= outgoing.bytes.size();
}

// Called under the lock.
WriteBehind::Forgotten WriteBehind::forget_object(std::string_view name)
{
    Forgotten forgotten;
    std::erase_if(m_queue, [&](const Outgoing& one) {
        const bool goes = one.kind == Outgoing::Kind::object && one.name == name;
        if (goes)
            forget(one);
        forgotten.queued |= goes;
        return goes;
    });
    for (Sending& sending : m_sending)
        if (sending.name == name)
            forgotten.sending = sending.dropped = true;
    return forgotten;
}

bool WriteBehind::drop(std::string_view name, std::chrono::milliseconds limit)
{
    bool was_here = false;
    {
        std::unique_lock lock(m_mutex);
        const Forgotten forgotten = forget_object(name);
        was_here = forgotten.queued || forgotten.sending;
        if (forgotten.sending)
            m_changed.wait_for(lock, limit,
                               [&] { return std::ranges::find(m_sending, name, &Sending::name) == m_sending.end(); });
    }
    m_changed.notify_all();
    return was_here;
}

bool WriteBehind::flush(std::chrono::milliseconds limit)
{
    std::unique_lock lock(m_mutex);
    m_changed.wait_for(lock, limit, [&] { return !m_running || m_waiting.entries == 0 || is_idle(); });
    return !m_running || m_waiting.entries == 0;
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
    return std::exchange(m_waiting, {}).entries + std::exchange(m_lost, 0);
}

WriteBehind::Waiting WriteBehind::waiting() const
{
    const std::lock_guard lock(m_mutex);
    return m_waiting;
}

void WriteBehind::forget_parent() noexcept
{
    m_queue.clear();
    m_sending.clear();
    m_waiting = {};
    m_running = false;
    // Replaced, not destroyed: its internal lock may be held by a thread that does not exist in the child.
    std::construct_at(&m_changed);
    base::forget_thread(m_thread);
}

}  // namespace hearth::remotes
