#pragma once

#include "base/fork.hpp"
#include "hearth/key.hpp"
#include "watch/condition.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace hearth::compilers {

// Questions that this process found answered by their first result, without a manifest. Most have no other, and a
// program asks again and again: then nobody looks for a manifest, and conditions that are the same are not decoded
// again. It is only where to look first: conditions are checked each time, and if they do not hold, manifests are read.
// Thread safety: all of it.
class FirstResults {
public:
    static FirstResults& of_process();

    struct Known {
        std::string directory;  // of the cache: another may have other results
        Bytes encoded;
        std::vector<watch::Condition> conditions;
    };

    // Null: it is not known.
    std::shared_ptr<const Known> find(const Key& question, const std::string& directory) const;

    void remember(const Key& question, std::shared_ptr<const Known> known);
    void forget(const Key& question);

private:
    static constexpr std::size_t k_most_conditions = 32768;  // some 8 MB

    mutable base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::unordered_map<Key, std::shared_ptr<const Known>> m_known;
    std::size_t m_conditions = 0;  // and one for each question
};

}  // namespace hearth::compilers
