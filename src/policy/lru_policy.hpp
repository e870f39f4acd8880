#pragma once

#include "hearth/policy.hpp"

#include <list>
#include <unordered_map>

namespace hearth::policy {

// Evicts exactly the entry that was used longest ago. Entries a tier brings back from an earlier run count as used in
// the order in which they are inserted.
// Thread safety: as Policy says. Ownership: none; entries belong to the tier.
// Cost: one hash lookup and one relink per operation, whatever the number of entries; touched() allocates nothing.
class LruPolicy final : public Policy {
public:
    explicit LruPolicy(PolicyOptions options) : m_options(options) {}

    void inserted(const Resident& entry) override;
    void removed(const Resident& entry) override;
    const Resident* victim() override;
    bool for_each_victim(const std::function<bool(const Resident&)>& visit) override;

    Touches touches() const override { return Touches::each; }
    void touched(const Resident& entry) override;
    bool promote(const Resident& entry) const override { return entry.uses() >= m_options.promote_after; }

private:
    using Order = std::list<const Resident*>;

    const PolicyOptions m_options;
    Order m_order;  // longest unused first
    std::unordered_map<const Resident*, Order::iterator> m_places;
};

}  // namespace hearth::policy
