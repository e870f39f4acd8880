#include "tiers/disk/victim_choice.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace hearth::tiers {

class VictimChoice::Residents {
public:
    explicit Residents(Policy& policy) : m_policy(policy) {}

    const Resident& add(const IndexRecord& record)
    {
        Resident& resident = m_all.emplace_back(record.key, record.bytes, record.cost);
        resident.set_uses(std::min(record.uses, Resident::k_max_uses));
        resident.set_last_used(record.tick);
        resident.aging = record.aging;
        m_policy.inserted(resident);
        return resident;
    }

private:
    Policy& m_policy;
    std::deque<Resident> m_all;
};

void VictimChoice::set_policy(PolicyFactory policy)
{
    m_policy = std::move(policy);
    m_candidates.clear();
}

int VictimChoice::sample(const Index& index, const Key& spare, std::vector<IndexRecord>& records, bool& whole)
{
    const std::uint64_t buckets = index.buckets();
    whole = buckets <= k_sampled_buckets;
    std::set<std::uint64_t> chosen;
    for (std::uint64_t bucket = 0; whole && bucket < buckets; ++bucket)
        chosen.insert(bucket);
    std::uniform_int_distribution<std::uint64_t> any(0, buckets - 1);
    while (chosen.size() < std::min(buckets, k_sampled_buckets))
        chosen.insert(any(m_random));

    records.clear();
    std::vector<IndexRecord> part;
    const auto read = [&](std::uint64_t bucket) {
        const int error = index.read_bucket(bucket, part);
        for (const IndexRecord& record : part)
            if (record.key != spare)
                records.push_back(record);
        return error;
    };
    for (const std::uint64_t bucket : chosen)
        if (const int error = read(bucket); error != 0)
            return error;
    // In a cache that has shrunk, the sampled buckets may be empty though others are not. Then all are read.
    for (std::uint64_t bucket = 0; records.empty() && !whole && bucket < buckets; ++bucket)
        if (const int error = read(bucket); error != 0)
            return error;
    return 0;
}

std::deque<VictimChoice::Candidate> VictimChoice::ranked(std::vector<IndexRecord> records, double clock,
                                                         std::size_t most) const
{
    std::sort(records.begin(), records.end(),
              [](const IndexRecord& a, const IndexRecord& b) { return a.tick < b.tick; });
    const std::unique_ptr<Policy> policy = m_policy();
    policy->set_clock(clock);
    Residents residents(*policy);
    std::unordered_map<const Resident*, const IndexRecord*> record_of;
    record_of.reserve(records.size());
    for (const IndexRecord& record : records)
        record_of.emplace(&residents.add(record), &record);
    std::deque<Candidate> worst;
    while (worst.size() < most && !record_of.empty()) {
        // A user's policy may name no victim, or one that is not here. The limit must hold anyway.
        auto victim = record_of.find(policy->victim());
        if (victim == record_of.end())
            victim = record_of.begin();
        policy->removed(*victim->first);
        worst.push_back({*victim->second, policy->clock()});
        record_of.erase(victim);
    }
    return worst;
}

int VictimChoice::refill(const Index& index, const Key& spare, bool& whole)
{
    std::vector<IndexRecord> records;
    if (const int error = sample(index, spare, records, whole); error != 0)
        return error;
    // Only the worst of a sample are taken before the next one is drawn: its best may be better than all other entries.
    const std::size_t most = whole ? records.size() : std::max<std::size_t>(1, records.size() / 8);
    m_candidates = ranked(std::move(records), index.clock(), most);
    return 0;
}

int VictimChoice::weigh(Index& index, const Resident& entry, std::uint64_t bytes, std::uint64_t entries,
                        bool& outweighs)
{
    bool whole = false;
    if (m_candidates.empty())
        if (const int error = refill(index, entry.key, whole); error != 0)
            return error;
    const std::unique_ptr<Policy> policy = m_policy();
    policy->set_clock(index.clock());
    Residents residents(*policy);
    std::uint64_t known = 0;
    for (const Candidate& candidate : m_candidates)
        known += residents.add(candidate.record).bytes;
    outweighs = policy->outweighs(entry, std::min(bytes, known), std::min<std::uint64_t>(entries, m_candidates.size()));
    if (outweighs)
        return 0;
    forget_if_small(index);
    return index.keep_clock(std::max(index.clock(), policy->clock()));
}

// A small cache is ranked anew each time, which is exact and cheap.
void VictimChoice::forget_if_small(const Index& index)
{
    if (index.buckets() <= k_sampled_buckets)
        m_candidates.clear();
}

int VictimChoice::run_exactly(Index& index, const std::function<bool()>& enough,
                              const std::function<int(const IndexRecord&)>& evict)
{
    std::vector<IndexRecord> records;
    if (const int error = enough() ? 0 : index.read_all(records); error != 0)
        return error;
    const std::size_t all = records.size();
    m_candidates = ranked(std::move(records), index.clock(), all);
    const int error = run(index, Key{}, enough, evict);
    m_candidates.clear();
    return error;
}

int VictimChoice::run(Index& index, const Key& spare, const std::function<bool()>& enough,
                      const std::function<int(const IndexRecord&)>& evict)
{
    bool whole = false;
    while (!enough()) {
        if (m_candidates.empty()) {
            if (const int error = refill(index, spare, whole); error != 0)
                return error;
            if (m_candidates.empty())
                return 0;
        }
        const Candidate candidate = m_candidates.front();
        m_candidates.pop_front();
        // It may have been used, replaced or removed since it was ranked, by us or by another process.
        std::optional<IndexRecord> now;
        if (const int error = index.find(candidate.record.key, now); error != 0)
            return error;
        if (!now || now->tick != candidate.record.tick || now->key == spare)
            continue;
        if (const int error = evict(*now); error != 0)
            return error;
        // Never backwards: another process may have advanced the clock since this candidate was ranked.
        index.set_clock(std::max(index.clock(), candidate.clock));
    }
    if (whole)
        m_candidates.clear();
    forget_if_small(index);
    return 0;
}

}  // namespace hearth::tiers
