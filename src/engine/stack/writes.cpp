#include "engine/stack/writes.hpp"

#include <memory>
#include <mutex>

namespace hearth::engine {

namespace {

std::size_t slot_of(const Key& key) noexcept
{
    return key.word(0) % Writes::k_slots;
}

}  // namespace

void Writes::begin_write(const Key& key)
{
    std::unique_lock lock(m_mutex);
    if (!m_last_writes)
        m_last_writes = std::make_unique<LastWrites>();
    if (State& state = m_keys[key]; !state.writing && state.copies == 0) {
        state.writing = true;
        return;
    }
    ++m_waiting;
    // First the place among those who write: copies that come from now on are refused, so this ends.
    m_changed.wait(lock, [&] { return !m_keys[key].writing; });
    m_keys[key].writing = true;
    m_changed.wait(lock, [&] { return m_keys[key].copies == 0; });
    --m_waiting;
}

void Writes::end_write(const Key& key, bool changed) noexcept
{
    {
        const std::lock_guard lock(m_mutex);
        const auto known = m_keys.find(key);
        if (known == m_keys.end())
            return;  // it began before a fork, in another process
        known->second.writing = false;
        if (changed) {
            const Ticket number = m_now.load(std::memory_order_relaxed) + 1;
            (*m_last_writes)[slot_of(key)] = number;
            // release: pairs with the acquire in now().
            m_now.store(number, std::memory_order_release);
        }
        forget_if_idle(known);
        if (m_waiting == 0)
            return;
    }
    m_changed.notify_all();
}

void Writes::begin_write_all()
{
    std::unique_lock lock(m_mutex);
    ++m_waiting;
    m_changed.wait(lock, [&] { return !m_writing_all; });
    m_writing_all = true;
    m_changed.wait(lock, [&] { return m_copies == 0; });
    --m_waiting;
}

void Writes::end_write_all() noexcept
{
    {
        const std::lock_guard lock(m_mutex);
        m_writing_all = false;
        m_last_write_all = m_now.load(std::memory_order_relaxed) + 1;
        // release: pairs with the acquire in now().
        m_now.store(m_last_write_all, std::memory_order_release);
    }
    m_changed.notify_all();
}

void Writes::forget_if_idle(UnderWay::iterator known) noexcept
{
    if (!known->second.writing && known->second.copies == 0)
        m_keys.erase(known);
}

bool Writes::begin_copy(const Key& key, Ticket read)
{
    const std::lock_guard lock(m_mutex);
    const bool was_written = m_last_writes && (*m_last_writes)[slot_of(key)] > read;
    if (m_writing_all || m_last_write_all > read || was_written)
        return false;
    if (const auto known = m_keys.find(key); known != m_keys.end() && known->second.writing)
        return false;
    ++m_keys[key].copies;
    ++m_copies;
    return true;
}

void Writes::end_copy(const Key& key) noexcept
{
    {
        const std::lock_guard lock(m_mutex);
        const auto known = m_keys.find(key);
        if (known == m_keys.end() || known->second.copies == 0)
            return;  // it began before a fork, in another process
        --known->second.copies;
        --m_copies;
        forget_if_idle(known);
        if (m_waiting == 0)
            return;
    }
    m_changed.notify_all();
}

// What other threads were writing and copying is not under way here.
void Writes::after_fork() noexcept
{
    m_keys.clear();
    m_copies = 0;
    m_writing_all = false;
    m_waiting = 0;
    // Replaced, not destroyed: its internal lock may be held by a thread that does not exist in the child.
    std::construct_at(&m_changed);
}

}  // namespace hearth::engine
