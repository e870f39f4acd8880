#include "tiers/disk/use_log.hpp"

#include <algorithm>

namespace hearth::tiers {

std::uint32_t UseLog::note(const Key& key, std::uint64_t when_ns, std::uint32_t uses)
{
    const std::lock_guard lock(m_mutex);
    Counts& counts = m_counts[key];
    if (counts.pending == 0)
        m_pending.push_back(key);
    counts.pending += uses;
    counts.total += uses;
    counts.when_ns = std::max(counts.when_ns, when_ns);
    return counts.total;
}

UseLog::Use UseLog::pending(const Key& key) const
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_counts.find(key);
    if (found == m_counts.end())
        return {key, 0, 0};
    return {key, found->second.pending, found->second.when_ns};
}

std::vector<UseLog::Use> UseLog::take(std::size_t most)
{
    const std::lock_guard lock(m_mutex);
    std::vector<Use> taken;
    while (taken.size() < most && !m_pending.empty()) {
        const Key key = m_pending.back();
        m_pending.pop_back();
        const auto found = m_counts.find(key);
        if (found == m_counts.end() || found->second.pending == 0)
            continue;
        taken.push_back({key, found->second.pending, found->second.when_ns});
        found->second.pending = 0;
    }
    if (m_counts.size() > k_remembered)
        std::erase_if(m_counts, [](const auto& item) { return item.second.pending == 0; });
    return taken;
}

void UseLog::give_back(const std::vector<Use>& uses)
{
    const std::lock_guard lock(m_mutex);
    for (const Use& use : uses) {
        Counts& counts = m_counts[use.key];
        if (counts.pending == 0)
            m_pending.push_back(use.key);
        counts.pending += use.uses;
        counts.when_ns = std::max(counts.when_ns, use.when_ns);
    }
}

void UseLog::forget(const Key& key)
{
    const std::lock_guard lock(m_mutex);
    m_counts.erase(key);
}

void UseLog::clear()
{
    const std::lock_guard lock(m_mutex);
    m_counts.clear();
    m_pending.clear();
}

std::size_t UseLog::size() const
{
    const std::lock_guard lock(m_mutex);
    return m_pending.size();
}

}  // namespace hearth::tiers
