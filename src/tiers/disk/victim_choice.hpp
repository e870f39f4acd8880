#pragma once

#include "hearth/policy.hpp"
#include "tiers/disk/index.hpp"

#include <functional>
#include <random>

namespace hearth::tiers {

// Finds entries to evict, by policy, without looking at all of them: a small cache is ranked whole, a large one by a few
// buckets of the index taken at random, some three hundred entries, so that a victim costs the same at a thousand
// entries and at a million.
class VictimChoice {
public:
    static constexpr std::uint64_t k_sampled_buckets = 3;

    VictimChoice(Index& index, const PolicyFactory& policy, std::mt19937_64& random)
        : m_index(index), m_policy(policy), m_random(random)
    {
    }

    // Calls `evict` with the next victim until `enough` says so or nothing is left. `spare` is never chosen.
    // 0, or the first error of the index or of `evict`.
    int run(const Key* spare, const std::function<bool()>& enough,
            const std::function<int(const IndexRecord&)>& evict);

private:
    int sample(const Key* spare, std::vector<IndexRecord>& records, bool& whole);

    Index& m_index;
    const PolicyFactory& m_policy;
    std::mt19937_64& m_random;
};

}  // namespace hearth::tiers
