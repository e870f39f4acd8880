#pragma once

#include "policy/gdsf_policy.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace hearth::test {

// Greedy-Dual-Size-Frequency as the literature has it: every hit ranks its entry anew, and the victim is the exact
// least. Slow, and what the lazy one is measured against.
class ExactGdsf : public Policy {
public:
    void inserted(const Resident& entry) override { rank(entry); }
    void removed(const Resident& entry) override
    {
        const double worth = m_worth.at(&entry);
        if (m_offered == &entry)
            m_clock = std::max(m_clock, worth);
        m_offered = nullptr;
        m_order.erase({worth, &entry});
        m_worth.erase(&entry);
    }
    const Resident* victim() override { return m_offered = m_order.empty() ? nullptr : m_order.begin()->second; }
    Touches touches() const override { return Touches::each; }
    void touched(const Resident& entry) override
    {
        m_order.erase({m_worth.at(&entry), &entry});
        rank(entry);
    }

private:
    void rank(const Resident& entry)
    {
        m_worth[&entry] = m_clock + policy::GdsfPolicy::density(entry, entry.uses());
        m_order.emplace(m_worth[&entry], &entry);
    }

    double m_clock = 0;
    std::unordered_map<const Resident*, double> m_worth;
    std::set<std::pair<double, const Resident*>> m_order;
    const Resident* m_offered = nullptr;
};

}  // namespace hearth::test
