#include "policy/lru_policy.hpp"

#include <algorithm>

namespace hearth {

namespace policy {

void LruPolicy::inserted(const Resident& entry)
{
    const auto [place, is_new] = m_places.try_emplace(&entry);
    if (is_new)
        place->second = m_order.insert(m_order.end(), &entry);
}

void LruPolicy::removed(const Resident& entry)
{
    const auto place = m_places.find(&entry);
    if (place == m_places.end())
        return;
    m_order.erase(place->second);
    m_places.erase(place);
}

const Resident* LruPolicy::victim()
{
    return m_order.empty() ? nullptr : m_order.front();
}

bool LruPolicy::for_each_victim(const std::function<bool(const Resident&)>& visit)
{
    static_cast<void>(
        std::all_of(m_order.begin(), m_order.end(), [&](const Resident* entry) { return visit(*entry); }));
    return true;
}

void LruPolicy::touched(const Resident& entry)
{
    const auto place = m_places.find(&entry);
    if (place != m_places.end())
        m_order.splice(m_order.end(), m_order, place->second);
}

}  // namespace policy

PolicyFactory lru(PolicyOptions options)
{
    return [options] { return std::make_unique<policy::LruPolicy>(options); };
}

}  // namespace hearth
