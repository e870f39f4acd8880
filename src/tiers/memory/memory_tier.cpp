#include "tiers/memory/memory_tier.hpp"

#include "base/error.hpp"
#include "tiers/memory/memory_cost.hpp"

#include <algorithm>

namespace hearth {

TierSpec memory(MemoryOptions options)
{
    return {options.name, [options](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                return {std::make_unique<tiers::MemoryTier>(options, context)};
            }};
}

TierSpec memory(std::uint64_t max_bytes)
{
    return memory(MemoryOptions{.max_bytes = max_bytes});
}

namespace tiers {

namespace {

using resident::ArtifactNode;

const ArtifactNode& with_artifact(const resident::Node& node)
{
    return static_cast<const ArtifactNode&>(node);
}

Found answer(const resident::ResidentStore::Hit& hit)
{
    if (!hit.node)
        return Found::miss(hit.why);
    const ArtifactNode& node = with_artifact(*hit.node);
    return {.artifact = ArtifactLease(hit.slot, node.artifact),
            .encoded = nullptr,
            .uses = node.resident.uses(),
            .bytes = node.resident.bytes,
            .cost = node.cost,
            .compiler = node.compiler};
}

std::vector<Victim> victims_of(const resident::Departed& departed, Victims keep)
{
    std::vector<Victim> victims = departed.victims();
    for (std::size_t i = 0; i < victims.size(); ++i)
        if (keep == Victims::keep && departed.nodes()[i].worth_keeping)
            victims[i].entry.emplace(with_artifact(*departed.nodes()[i].node).artifact);
    return victims;
}

}  // namespace

MemoryTier::MemoryTier(MemoryOptions options, const TierContext& context)
    : m_name(std::move(options.name)),
      m_store(m_name, *context.clock, context.policy(),
              {.max_bytes = options.max_bytes, .max_entries = options.max_entries, .max_age = {}})
{
}

Found MemoryTier::find(const Key& key)
{
    return answer(m_store.find(key));
}

resident::HeldArtifact MemoryTier::find_held(const Key& key, Miss& why)
{
    const resident::ResidentTable::Held found = m_store.find_held(key, why);
    return {static_cast<const ArtifactNode*>(found.node), found.slot};
}

Found MemoryTier::peek(const Key& key)
{
    return answer(m_store.peek(key));
}

Result<StoreReport> MemoryTier::store(const Key& key, const Entry& entry, Victims victims, std::vector<Victim>& gone)
{
    std::shared_ptr<const Artifact> artifact = without_slack(entry.artifact());
    const auto beside = static_cast<std::uint32_t>(std::min<std::uint64_t>(memory_beside(*artifact), UINT32_MAX));
    auto node = std::make_unique<ArtifactNode>(key, std::move(artifact), beside);
    StoreReport report;
    report.bytes = node->resident.bytes;
    const Result<resident::Departed> departed = m_store.store(std::move(node), report.replaced);
    HEARTH_TRY(departed);
    std::ranges::move(victims_of(*departed, victims), std::back_inserter(gone));
    return report;
}

std::vector<Victim> MemoryTier::set_limits(const Limits& limits, Victims victims)
{
    return victims_of(m_store.set_limits(limits), victims);
}

EntryRow MemoryTier::row_of(const resident::Node& node) const
{
    EntryRow row = m_store.row_of(node);
    row.metadata = with_artifact(node).artifact->metadata;
    row.status = with_artifact(node).artifact->status;
    return row;
}

std::optional<EntryRow> MemoryTier::info(const Key& key)
{
    std::optional<EntryRow> row;
    m_store.visit_one(key, [&](const resident::Node& node) { row = row_of(node); });
    return row;
}

void MemoryTier::for_each(const std::function<bool(const EntryRow&)>& visit)
{
    std::vector<EntryRow> rows;
    m_store.visit([&](const resident::Node& node) { rows.push_back(row_of(node)); });
    for (const EntryRow& row : rows)
        if (!visit(row))
            return;
}

std::vector<Victim> MemoryTier::evict_to(const EvictTo& goal, const Progress& /*progress*/)
{
    return victims_of(m_store.evict_to(goal), Victims::discard);
}

VerifyReport MemoryTier::verify(Repair /*repair*/, const Progress& /*progress*/)
{
    VerifyReport report;
    report.checked = report.intact = m_store.usage().entries;
    report.accounting_exact = m_store.is_exact();
    return report;
}

std::vector<Victim> MemoryTier::maintain(std::stop_token stop)
{
    return victims_of(m_store.depart_expired(stop), Victims::discard);
}

}  // namespace tiers

}  // namespace hearth
