#include "engine/stack/writes.hpp"

#include <memory>
#include <mutex>

namespace hearth::engine {

void Writes::begin_write(const Key& key)
{
    std::unique_lock lock(m_mutex);
    m_ended.reserve(k_remembered);
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
            known->second.ended = number;
            remember(key, number);
            // release: pairs with the acquire in now().
            m_now.store(number, std::memory_order_release);
        } else
            forget_if_idle(key);
        if (m_waiting == 0)
            return;
    }
    m_changed.notify_all();
}

void Writes::remember(const Key& key, Ticket number) noexcept
{
    if (m_ended.size() < k_remembered)
        return m_ended.push_back(key);
    Key& oldest = m_ended[(number - 1) % k_remembered];
    m_forgotten = number - k_remembered;
    if (const auto known = m_keys.find(oldest); known != m_keys.end() && known->second.ended == m_forgotten) {
        known->second.ended = 0;
        forget_if_idle(oldest);
    }
    oldest = key;
}

void Writes::forget_if_idle(const Key& key) noexcept
{
    const auto known = m_keys.find(key);
    if (known == m_keys.end() || known->second.writing || known->second.copies != 0 || known->second.ended != 0)
        return;
    m_keys.erase(known);
}

bool Writes::begin_copy(const Key& key, Ticket read)
{
    const std::lock_guard lock(m_mutex);
    if (m_forgotten > read)
        return false;
    State& state = m_keys[key];
    if (state.writing || state.ended > read)
        return false;
    ++state.copies;
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
        forget_if_idle(key);
        if (m_waiting == 0)
            return;
    }
    m_changed.notify_all();
}

// What other threads were writing and copying is not under way here.
void Writes::after_fork() noexcept
{
    for (auto& [key, state] : m_keys)
        state = {.ended = state.ended};
    std::erase_if(m_keys, [](const auto& known) { return known.second.ended == 0; });
    m_waiting = 0;
    // Replaced, not destroyed: its internal lock may be held by a thread that does not exist in the child.
    std::construct_at(&m_changed);
}

}  // namespace hearth::engine
