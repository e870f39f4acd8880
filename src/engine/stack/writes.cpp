#include "engine/stack/writes.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace hearth::engine {

namespace {

std::size_t chain_of(const Key& key) noexcept
{
    return key.word(0) % Writes::k_remembered;
}

}  // namespace

void Writes::begin_write(const Key& key)
{
    std::unique_lock lock(m_mutex);
    if (!m_ended)
        m_ended = std::make_unique<Ended>();
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
            remember(key, number);
            // release: pairs with the acquire in now().
            m_now.store(number, std::memory_order_release);
        }
        forget_if_idle(known);
        if (m_waiting == 0)
            return;
    }
    m_changed.notify_all();
}

void Writes::remember(const Key& key, Ticket number) noexcept
{
    const auto place = static_cast<Place>((number - 1) % k_remembered + 1);
    if (number > k_remembered) {
        m_forgotten = number - k_remembered;
        const Place before = m_ended->before[place - 1U];
        (before == 0 ? m_ended->first[chain_of(m_ended->keys[place - 1U])] : m_ended->next[before - 1U]) = 0;
    }
    m_ended->keys[place - 1U] = key;
    const Place next = std::exchange(m_ended->first[chain_of(key)], place);
    m_ended->next[place - 1U] = next;
    m_ended->before[place - 1U] = 0;
    if (next != 0)
        m_ended->before[next - 1U] = place;
}

// 0 if it is not among the remembered.
Writes::Ticket Writes::last_write_of(const Key& key) const noexcept
{
    Place place = m_ended ? m_ended->first[chain_of(key)] : Place{0};
    while (place != 0 && m_ended->keys[place - 1U] != key)
        place = m_ended->next[place - 1U];
    if (place == 0)
        return 0;
    const Ticket now = m_now.load(std::memory_order_relaxed);
    return now - (now - place) % k_remembered;
}

void Writes::forget_if_idle(UnderWay::iterator known) noexcept
{
    if (!known->second.writing && known->second.copies == 0)
        m_keys.erase(known);
}

bool Writes::begin_copy(const Key& key, Ticket read)
{
    const std::lock_guard lock(m_mutex);
    if (m_forgotten > read)
        return false;
    if (const auto known = m_keys.find(key); known != m_keys.end() && known->second.writing)
        return false;
    if (last_write_of(key) > read)
        return false;
    ++m_keys[key].copies;
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
    m_waiting = 0;
    // Replaced, not destroyed: its internal lock may be held by a thread that does not exist in the child.
    std::construct_at(&m_changed);
}

}  // namespace hearth::engine
