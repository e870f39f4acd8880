#include "compilers/common/first_results.hpp"

#include "base/of_process.hpp"

namespace hearth::compilers {

FirstResults& FirstResults::of_process()
{
    return base::of_process<FirstResults>();
}

std::shared_ptr<const FirstResults::Known> FirstResults::find(const Key& question, const std::string& directory) const
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_known.find(question);
    return found != m_known.end() && found->second->directory == directory ? found->second : nullptr;
}

void FirstResults::remember(const Key& question, std::shared_ptr<const Known> known)
{
    const std::lock_guard lock(m_mutex);
    if (m_conditions + known->conditions.size() >= k_most_conditions) {
        m_known.clear();
        m_conditions = 0;
    }
    std::shared_ptr<const Known>& place = m_known[question];
    m_conditions -= place ? place->conditions.size() + 1 : 0;
    m_conditions += known->conditions.size() + 1;
    place = std::move(known);
}

void FirstResults::forget(const Key& question)
{
    const std::lock_guard lock(m_mutex);
    if (const auto found = m_known.find(question); found != m_known.end()) {
        m_conditions -= found->second->conditions.size() + 1;
        m_known.erase(found);
    }
}

}  // namespace hearth::compilers
