#include "engine/stack/credits.hpp"

#include "hearth/policy.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace hearth::engine {

void Credits::tell()
{
    Tier* const keeper = m_tiers.writable_keeper();
    if (!keeper)
        return;
    struct Used {
        std::uint32_t uses = 0;
        WallTime last{};
    };
    std::unordered_map<Key, Used> used;
    for (const Place& place : m_tiers) {
        if (place.traits.persistent)
            continue;
        place->for_each([&](const EntryRow& row) {
            if (row.uses != 0) {
                used[row.key].uses += row.uses;
                used[row.key].last = std::max(used[row.key].last, row.last_used);
            }
            return true;
        });
    }
    const WallTime now = m_clock.now();
    std::vector<std::pair<Key, std::uint32_t>> news;
    std::unique_lock lock(m_mutex);
    for (const auto& [key, use] : used) {
        std::uint32_t& told = m_told[key];
        // A saturated count no longer grows: if the entry was used since the last time, that counts as one use.
        const bool saturated = use.uses >= Resident::k_max_uses;
        if (use.uses > told || (saturated && use.last > m_told_at))
            news.emplace_back(key, std::max<std::uint32_t>(use.uses - std::min(use.uses, told), 1));
        told = use.uses;
    }
    m_told_at = now;
    std::erase_if(m_told, [&](const auto& item) { return !used.contains(item.first); });
    lock.unlock();  // the keeper may be a tier of the program's own
    for (const auto& [key, uses] : news)
        keeper->touch(key, uses);
}

void Credits::forget()
{
    const std::lock_guard lock(m_mutex);
    m_told.clear();
}

// What the disk counted itself, and all but one of what several tiers counted, is as good as told. Without a disk
// nobody is told, and nothing is remembered, for nothing would be forgotten again.
void Credits::used_once(const Key& key, std::uint32_t in_volatile, bool on_disk)
{
    const std::uint32_t told = in_volatile - (in_volatile != 0 && !on_disk ? 1 : 0);
    if (told == 0 || !m_tiers.writable_keeper())
        return;
    const std::lock_guard lock(m_mutex);
    m_told[key] += told;
}

std::uint32_t Credits::not_told(const Key& key, std::uint32_t uses)
{
    const std::lock_guard lock(m_mutex);
    const auto told = m_told.find(key);
    return told == m_told.end() ? uses : uses - std::min(uses, told->second);
}

}  // namespace hearth::engine
