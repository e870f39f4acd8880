#pragma once

#include "hearth/policy.hpp"
#include "tiers/disk/index.hpp"

#include <deque>
#include <functional>
#include <random>

namespace hearth::tiers {

// Finds entries to evict, by policy, without looking at all of them: a small cache is ranked whole, a large one by a
// few buckets of the index taken at random, some three hundred entries. The worst of such a sample are remembered for
// the next evictions, and checked again before they go, since they may have been used meanwhile. So a victim costs
// little, and the same at a thousand entries and at a million. Thread safety: none; used under the directory's lock.
// (`hearth gc` is not in a hurry, and ranks them all.)
class VictimChoice {
public:
    static constexpr std::uint64_t k_sampled_buckets = 3;

    VictimChoice(PolicyFactory policy, std::uint64_t seed) : m_policy(std::move(policy)), m_random(seed) {}

    void set_policy(PolicyFactory policy);
    bool admits(const Resident& entry) const { return m_policy()->admit(entry); }
    // Whether a new entry outweighs those that must go for it: so many bytes, and so many of them. Where only a sample
    // is known, fewer are weighed than must go. 0, or the first error of the index.
    int weigh(Index& index, const Resident& entry, std::uint64_t bytes, std::uint64_t entries, bool& outweighs);

    struct Candidate {
        IndexRecord record;
        double clock = 0;  // the policy's, once this one is gone
    };
    // The first `most` victims among these records, worst first.
    std::deque<Candidate> ranked(std::vector<IndexRecord> records, double clock, std::size_t most) const;

    // Calls `evict` with the next victim until `enough` says so or nothing is left. `spare` is never chosen.
    // 0, or the first error of the index or of `evict`.
    int run(Index& index, const Key& spare, const std::function<bool()>& enough,
            const std::function<int(const IndexRecord&)>& evict);
    // The same for one who can wait: all entries are ranked, whatever their number, so that the choice is exact.
    int run_exactly(Index& index, const std::function<bool()>& enough,
                    const std::function<int(const IndexRecord&)>& evict);

private:
    // Entries of the index, as a policy sees them.
    class Residents;

    int sample(const Index& index, const Key& spare, std::vector<IndexRecord>& records, bool& whole);
    // Ranks a sample and keeps its worst; none are left when the index holds nothing but `spare`.
    int refill(const Index& index, const Key& spare, bool& whole);
    void forget_if_small(const Index& index);

    PolicyFactory m_policy;
    std::mt19937_64 m_random;
    std::deque<Candidate> m_candidates;  // worst first
};

}  // namespace hearth::tiers
