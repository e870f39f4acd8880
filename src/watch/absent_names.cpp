#include "watch/absent_names.hpp"

#include "base/of_process.hpp"

namespace hearth::watch {

AbsentNames& AbsentNames::of_process()
{
    return base::of_process<AbsentNames>();
}

bool AbsentNames::is_known(const std::string& directory)
{
    const std::lock_guard lock(m_mutex);
    if (m_directories.contains(directory))
        return true;
    forget_too_many();
    m_directories.emplace(directory, Directory{});
    ++m_count;
    return false;
}

std::shared_ptr<const AbsentNames::Names> AbsentNames::find(const std::string& directory,
                                                            const FileIdentity& identity) const
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_directories.find(directory);
    return found != m_directories.end() && found->second.identity == identity ? found->second.names : nullptr;
}

void AbsentNames::add(const std::string& directory, const FileIdentity& identity, const std::vector<std::string>& names)
{
    const std::lock_guard lock(m_mutex);
    forget_too_many();
    Directory& known = m_directories[directory];
    // Whoever has the others goes on with them.
    auto all =
        known.names && known.identity == identity ? std::make_shared<Names>(*known.names) : std::make_shared<Names>();
    const std::size_t before = known.names ? known.names->size() : 0;
    all->insert(names.begin(), names.end());
    m_count += all->size() - before;
    known = {identity, std::move(all)};
}

void AbsentNames::forget_too_many()
{
    if (m_count < k_most)
        return;
    m_directories.clear();
    m_count = 0;
}

}  // namespace hearth::watch
