#pragma once

#include "hearth/policy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

namespace hearth::test {

inline Key key_of(std::uint64_t id)
{
    Key key;
    std::memcpy(key.digest.data(), &id, sizeof id);
    return key;
}

inline std::uint64_t id_of(const Resident& entry)
{
    std::uint64_t id = 0;
    std::memcpy(&id, entry.key.digest.data(), sizeof id);
    return id;
}

// The least a tier can be: entries under numbers, a budget, and a policy that is told what a tier tells it.
class TestTier {
public:
    explicit TestTier(const PolicyFactory& make, std::uint64_t budget = std::numeric_limits<std::uint64_t>::max())
        : TestTier(make(), budget)
    {
    }
    TestTier(std::unique_ptr<Policy> policy, std::uint64_t budget = std::numeric_limits<std::uint64_t>::max())
        : m_policy(std::move(policy)), m_budget(budget)
    {
    }

    Policy& policy() { return *m_policy; }
    std::uint64_t used() const { return m_used; }
    std::size_t size() const { return m_entries.size(); }
    bool holds(std::uint64_t id) const { return m_entries.contains(id); }
    Resident& at(std::uint64_t id) { return *m_entries.at(id); }
    const std::vector<std::uint64_t>& evicted() const { return m_evicted; }  // all so far, in order

    std::vector<const Resident*> entries() const
    {
        std::vector<const Resident*> all;
        for (const auto& [id, entry] : m_entries)
            all.push_back(entry.get());
        return all;
    }

    // Makes room, then takes the entry in. `aging` other than 0 is that of an entry restored from an earlier run.
    Resident& put(std::uint64_t id, std::uint64_t bytes, double cost = 1, double aging = 0, std::uint32_t uses = 0)
    {
        while (m_used + bytes > m_budget && evict()) {
        }
        auto& entry = m_entries[id] = std::make_unique<Resident>(key_of(id), bytes, cost);
        entry->aging = aging;
        entry->set_uses(uses);
        entry->set_last_used(++m_tick);
        m_used += bytes;
        m_policy->inserted(*entry);
        return *entry;
    }

    void hit(std::uint64_t id)
    {
        Resident& entry = at(id);
        entry.bump();
        entry.set_last_used(++m_tick);
        if (m_policy->touches() == Policy::Touches::each)
            m_policy->touched(entry);
    }

    void erase(std::uint64_t id)
    {
        const auto place = m_entries.find(id);
        m_policy->removed(*place->second);
        m_used -= place->second->bytes;
        m_entries.erase(place);
    }

    // False when the policy names nobody.
    bool evict()
    {
        const Resident* const victim = m_policy->victim();
        if (!victim)
            return false;
        m_evicted.push_back(id_of(*victim));
        erase(m_evicted.back());
        return true;
    }

    void set_policy(const PolicyFactory& make)
    {
        std::unique_ptr<Policy> policy = make();
        policy->set_clock(m_policy->clock());
        std::vector<const Resident*> all = entries();
        std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->last_used() < b->last_used(); });
        for (const Resident* const entry : all)
            policy->inserted(*entry);
        m_policy = std::move(policy);
    }

private:
    std::unordered_map<std::uint64_t, std::unique_ptr<Resident>> m_entries;
    std::unique_ptr<Policy> m_policy;
    const std::uint64_t m_budget;
    std::uint64_t m_used = 0;
    std::uint64_t m_tick = 0;
    std::vector<std::uint64_t> m_evicted;
};

}  // namespace hearth::test
