#include "tiers/disk/victim_choice.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

namespace hearth::tiers {

int VictimChoice::sample(const Key* spare, std::vector<IndexRecord>& records, bool& whole)
{
    const std::uint64_t buckets = m_index.buckets();
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
        const int error = m_index.read_bucket(bucket, part);
        for (const IndexRecord& record : part)
            if (!spare || record.key != *spare)
                records.push_back(record);
        return error;
    };
    for (const std::uint64_t bucket : chosen)
        if (const int error = read(bucket); error != 0)
            return error;
    // Sampled buckets may be empty though others are not, in a cache that has shrunk: then look at all of them.
    for (std::uint64_t bucket = 0; records.empty() && !whole && bucket < buckets; ++bucket)
        if (const int error = read(bucket); error != 0)
            return error;
    return 0;
}

int VictimChoice::run(const Key* spare, const std::function<bool()>& enough,
                      const std::function<int(const IndexRecord&)>& evict)
{
    while (!enough()) {
        std::vector<IndexRecord> records;
        bool whole = false;
        if (const int error = sample(spare, records, whole); error != 0)
            return error;
        if (records.empty())
            return 0;
        std::sort(records.begin(), records.end(),
                  [](const IndexRecord& a, const IndexRecord& b) { return a.tick < b.tick; });

        const std::unique_ptr<Policy> policy = m_policy();
        policy->set_clock(m_index.clock());
        std::deque<Resident> residents;
        std::unordered_map<const Resident*, const IndexRecord*> record_of;
        for (const IndexRecord& record : records) {
            Resident& resident = residents.emplace_back(record.key, record.bytes, record.cost);
            resident.set_uses(std::min(record.uses, Resident::k_max_uses));
            resident.set_last_used(record.tick);
            resident.aging = record.aging;
            record_of.emplace(&resident, &record);
            policy->inserted(resident);
        }
        // From a sample only its worst are taken before another is drawn: its best may be better than all the rest.
        std::size_t most = whole ? records.size() : std::max<std::size_t>(1, records.size() / 8);
        for (; most > 0 && !enough(); --most) {
            const Resident* victim = policy->victim();
            const auto found = record_of.find(victim);
            const IndexRecord& record = found != record_of.end() ? *found->second : *record_of.begin()->second;
            const Resident* gone = found != record_of.end() ? victim : record_of.begin()->first;
            if (const int error = evict(record); error != 0)
                return error;
            policy->removed(*gone);
            record_of.erase(gone);
            if (record_of.empty())
                break;
        }
        m_index.set_clock(policy->clock());
    }
    return 0;
}

}  // namespace hearth::tiers
