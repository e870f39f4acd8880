#include "trace/s3_fifo_policy.hpp"

#include <algorithm>

namespace hearth::bench {

namespace {

constexpr std::uint32_t k_uses_to_enter_main = 2;
constexpr std::uint32_t k_most_spared = 3;

}  // namespace

void S3FifoPolicy::inserted(const Resident& entry)
{
    const auto ghost = m_ghost_places.find(entry.key);
    const bool is_main = ghost != m_ghost_places.end();
    if (is_main) {
        m_ghost_bytes -= ghost->second->bytes;
        m_ghosts.erase(ghost->second);
        m_ghost_places.erase(ghost);
    } else {
        m_small_bytes += entry.bytes;
    }
    Queue& queue = is_main ? m_main : m_small;
    m_places[&entry] = queue.insert(queue.end(), Place{&entry, 0, is_main});
}

void S3FifoPolicy::removed(const Resident& entry)
{
    const auto place = m_places.find(&entry);
    if (place == m_places.end())
        return;
    if (place->second->is_main) {
        m_main.erase(place->second);
    } else {
        m_small_bytes -= entry.bytes;
        m_small.erase(place->second);
        if (m_offered == &entry)
            remember(entry);
    }
    m_offered = nullptr;
    m_places.erase(place);
}

const Resident* S3FifoPolicy::victim()
{
    m_offered = nullptr;
    while (!m_offered && !m_places.empty()) {
        const bool from_small = !m_small.empty() && (m_small_bytes >= m_capacity / 10 || m_main.empty());
        Queue& queue = from_small ? m_small : m_main;
        Place& oldest = queue.front();
        if (from_small && oldest.uses >= k_uses_to_enter_main) {
            m_small_bytes -= oldest.entry->bytes;
            oldest.uses = 0;
            oldest.is_main = true;
            m_main.splice(m_main.end(), m_small, m_small.begin());
        } else if (!from_small && oldest.uses > 0) {
            oldest.uses = std::min(oldest.uses, k_most_spared) - 1;
            m_main.splice(m_main.end(), m_main, m_main.begin());
        } else {
            m_offered = oldest.entry;
        }
    }
    return m_offered;
}

void S3FifoPolicy::touched(const Resident& entry)
{
    const auto place = m_places.find(&entry);
    if (place != m_places.end())
        ++place->second->uses;
}

void S3FifoPolicy::remember(const Resident& entry)
{
    m_ghost_places[entry.key] = m_ghosts.insert(m_ghosts.end(), Ghost{entry.key, entry.bytes});
    m_ghost_bytes += entry.bytes;
    while (m_ghost_bytes > m_capacity - m_capacity / 10) {
        m_ghost_bytes -= m_ghosts.front().bytes;
        m_ghost_places.erase(m_ghosts.front().key);
        m_ghosts.pop_front();
    }
}

}  // namespace hearth::bench
