// Listing, verifying, collecting, carrying entries in and out, maintenance and statistics.

#include "base/clock.hpp"
#include "base/files.hpp"
#include "engine/engine.hpp"
#include "engine/stats_note.hpp"
#include "format/archive.hpp"
#include "format/entry.hpp"

#include <algorithm>
#include <condition_variable>
#include <fmt/format.h>
#include <unordered_map>
#include <unordered_set>

namespace hearth::engine {

namespace {

constexpr std::string_view k_stats_note = "stats";
constexpr std::uint64_t k_stats_interval_ns = 1'000'000'000;
constexpr std::size_t k_problems_told = 100;

void tell(std::vector<std::string>& problems, std::string problem)
{
    if (problems.size() < k_problems_told)
        problems.push_back(std::move(problem));
}

// Uses in memory are told to the disk now and then: those must not be counted in both.
struct UsesOfTiers {
    std::uint32_t in_volatile = 0;
    std::uint32_t in_persistent = 0;

    void add(const TierTraits& traits, std::uint32_t uses)
    {
        (traits.persistent ? in_persistent : in_volatile) += uses;
    }
};

}  // namespace

std::optional<EntryRow> Engine::info(const Key& key)
{
    std::optional<EntryRow> row;
    UsesOfTiers uses;
    for (const std::unique_ptr<Tier>& tier : m_tiers) {
        std::optional<EntryRow> here = tier->info(key);
        if (!here)
            continue;
        uses.add(tier->traits(), here->uses);
        if (!row)
            row = std::move(here);
        else
            row->last_used = std::max(row->last_used, here->last_used);
    }
    if (row)
        row->uses = uses.in_persistent + not_credited(key, uses.in_volatile);
    return row;
}

void Engine::list(const std::function<bool(const EntryRow&)>& visit)
{
    std::unordered_set<Key> seen;
    bool go_on = true;
    for (std::size_t i = 0; i < m_tiers.size() && go_on; ++i) {
        const bool last = i + 1 == m_tiers.size();
        m_tiers[i]->for_each([&](const EntryRow& row) {
            const bool fresh = last ? !seen.contains(row.key) : seen.insert(row.key).second;
            go_on = !fresh || visit(row);
            return go_on;
        });
    }
}

std::vector<EntryRow> Engine::hottest(std::size_t count)
{
    std::unordered_map<Key, std::pair<EntryRow, UsesOfTiers>> rows;
    for (const std::unique_ptr<Tier>& tier : m_tiers)
        tier->for_each([&, traits = tier->traits()](const EntryRow& row) {
            auto& [known, uses] = rows.try_emplace(row.key, row, UsesOfTiers{}).first->second;
            known.last_used = std::max(known.last_used, row.last_used);
            uses.add(traits, row.uses);
            return true;
        });
    std::vector<EntryRow> sorted;
    sorted.reserve(rows.size());
    for (auto& [key, row_and_uses] : rows) {
        auto& [row, uses] = row_and_uses;
        row.uses = uses.in_persistent + not_credited(key, uses.in_volatile);
        sorted.push_back(std::move(row));
    }
    const auto hotter = [](const EntryRow& a, const EntryRow& b) {
        return std::tie(a.uses, a.last_used, a.key) > std::tie(b.uses, b.last_used, b.key);
    };
    const std::size_t wanted = std::min(count, sorted.size());
    std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(wanted), sorted.end(), hotter);
    sorted.resize(wanted);
    return sorted;
}

VerifyReport Engine::verify(Repair repair, const Progress& progress)
{
    VerifyReport all;
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        const VerifyReport part = m_tiers[i]->verify(repair, progress);
        all.checked += part.checked;
        all.intact += part.intact;
        all.corrupt += part.corrupt;
        all.incompatible += part.incompatible;
        all.stray += part.stray;
        all.removed += part.removed;
        all.accounting_exact &= part.accounting_exact;
        m_counters.add(i, TierCount::corrupt, part.corrupt);
        for (const std::string& problem : part.problems)
            tell(all.problems, problem);
    }
    return all;
}

GcReport Engine::gc(const GcOptions& options, const Progress& progress)
{
    credit_uses();  // or what memory answers looks idle
    GcReport report;
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        Tier& tier = *m_tiers[i];
        if (!tier.traits().persistent || !tier.traits().writable)
            continue;
        const TierUsage before = tier.usage();
        settle_victims(i, tier.maintain({}));
        if (options.unused_for)
            tier.remove_idle(*options.unused_for, progress);
        const Limits usual = tier.limits();
        Limits now = usual;
        const auto lower = [](std::uint64_t& limit, const std::optional<std::uint64_t>& wanted) {
            // 0 means no limit to a tier; asked for here it means "keep nothing", which one byte or one entry can't
            // hold.
            if (wanted && (limit == 0 || *wanted < limit))
                limit = std::max<std::uint64_t>(*wanted, 1);
        };
        lower(now.max_bytes, options.max_bytes);
        lower(now.max_entries, options.max_entries);
        if (options.max_entries == std::uint64_t{0})
            now.max_bytes = 1;
        settle_victims(i, tier.set_limits(now, Victims::discard));
        tier.set_limits(usual, Victims::discard);
        const TierUsage after = tier.usage();
        report.removed_entries += before.entries - std::min(before.entries, after.entries);
        report.removed_bytes += before.bytes - std::min(before.bytes, after.bytes);
        report.left.entries += after.entries;
        report.left.bytes += after.bytes;
    }
    return report;
}

Result<TransferReport> Engine::export_to(const std::string& path, const std::function<bool(const EntryRow&)>& choose,
                                         const Progress& progress)
{
    TransferReport report;
    format::ArchiveWriter archive(base::system_files(), path);
    std::uint64_t total = 0;
    for (const std::unique_ptr<Tier>& tier : m_tiers)
        total = std::max(total, tier->usage().entries);
    std::optional<Error> failed;
    std::uint64_t looked_at = 0;
    bool stopped = false;
    list([&](const EntryRow& row) {
        stopped = progress && !progress(++looked_at, std::max(total, looked_at));
        if (stopped)
            return false;
        if (choose && !choose(row))
            return true;
        const Found found = m_tiers[tier_named(row.tier)]->peek(row.key);
        if (!found) {
            ++report.rejected;
            tell(report.problems,
                 fmt::format("Entry {} could not be read ({}); left out.", row.key.hex(), to_string(found.why)));
            return true;
        }
        const Result<Bytes> encoded = found.encoded ? *found.encoded : format::encode_entry(row.key, *found.artifact);
        const Status added = encoded ? archive.add(*encoded) : Status(encoded.error());
        if (!added.ok()) {
            failed = added.error();
            return false;
        }
        ++report.entries;
        report.bytes += encoded->size();
        return true;
    });
    if (failed)
        return *failed;
    if (stopped)
        return Error{Code::timeout, "Export was stopped; nothing was written.", {}};
    if (const Status finished = archive.finish(); !finished.ok())
        return finished.error();
    return report;
}

Result<TransferReport> Engine::import_from(const std::string& path, const Progress& progress)
{
    Result<format::ArchiveReader> archive = format::ArchiveReader::open(base::system_files(), path);
    if (!archive)
        return archive.error();
    TransferReport report;
    for (;;) {
        Result<std::optional<Bytes>> next = archive->next();
        if (!next) {
            tell(report.problems, next.error().message);
            ++report.rejected;
            return report.entries + report.already_there == 0 ? Result<TransferReport>(next.error()) : report;
        }
        if (!*next)
            return report;
        if (progress && !progress(archive->position(), archive->size()))
            return report;
        const Bytes& bytes = **next;
        const std::optional<Key> key = format::claimed_key(bytes);
        const format::DecodedEntry decoded = key ? format::decode_entry(bytes, *key) : format::DecodedEntry{};
        if (!decoded.artifact) {
            ++report.rejected;
            tell(report.problems,
                 fmt::format("The entry before byte {} is damaged or of another format version; rejected.",
                             archive->position()));
            continue;
        }
        // Straight into the persistent tiers, in the bytes it came in; memory is for what is used.
        bool stored = false;
        bool there = false;
        std::optional<Error> refused;
        for (std::size_t i = 0; i < m_tiers.size(); ++i) {
            const TierTraits traits = m_tiers[i]->traits();
            if (!traits.persistent || !traits.writable)
                continue;
            if (m_tiers[i]->contains(*key)) {
                there = true;
            } else if (const Result<StoreReport> put = store_in(i, *key, Entry(decoded.artifact, bytes))) {
                stored = true;
            } else {
                refused = put.error();
            }
        }
        if (!stored && !there && refused && refused->code == Code::too_large) {
            ++report.rejected;
            tell(report.problems, refused->message);
            continue;
        }
        if (!stored && !there)
            return refused.value_or(
                Error{Code::unavailable, "There is no writable persistent tier to import into.", {}});
        (stored ? report.entries : report.already_there) += 1;
        report.bytes += stored ? bytes.size() : 0;
    }
}

void Engine::credit_uses()
{
    // An entry that memory answers looks idle to the tiers below, and would be evicted there first.
    Tier* keeper = nullptr;
    for (const std::unique_ptr<Tier>& tier : m_tiers) {
        if (tier->traits().persistent && tier->traits().writable) {
            keeper = tier.get();
            break;
        }
    }
    if (!keeper)
        return;
    struct Used {
        std::uint32_t uses = 0;
        WallTime last{};
    };
    std::unordered_map<Key, Used> used;
    for (const std::unique_ptr<Tier>& tier : m_tiers) {
        if (tier->traits().persistent)
            continue;
        tier->for_each([&](const EntryRow& row) {
            if (row.uses != 0) {
                used[row.key].uses += row.uses;
                used[row.key].last = std::max(used[row.key].last, row.last_used);
            }
            return true;
        });
    }
    const WallTime now = m_clock.now();
    const std::lock_guard lock(m_credit_mutex);
    for (const auto& [key, use] : used) {
        std::uint32_t& credited = m_credited[key];
        // A saturated count no longer grows: that it was used since the last time is then worth one.
        const bool saturated = use.uses >= Resident::k_max_uses;
        if (use.uses > credited || (saturated && use.last > m_credited_at))
            keeper->touch(key, std::max<std::uint32_t>(use.uses - std::min(use.uses, credited), 1));
        credited = use.uses;
    }
    m_credited_at = now;
    std::erase_if(m_credited, [&](const auto& item) { return !used.contains(item.first); });
}

// Uses of a volatile tier that the tiers below do not count as theirs already.
std::uint32_t Engine::not_credited(const Key& key, std::uint32_t uses)
{
    const std::lock_guard lock(m_credit_mutex);
    const auto credited = m_credited.find(key);
    return credited == m_credited.end() ? uses : uses - std::min(uses, credited->second);
}

void Engine::flush()
{
    credit_uses();
    for (const std::unique_ptr<Tier>& tier : m_tiers)
        tier->flush();
    write_stats();
}

void Engine::clear(bool persistent_too)
{
    if (!persistent_too)
        credit_uses();  // before they are forgotten with the entries
    {
        const std::lock_guard lock(m_credit_mutex);
        m_credited.clear();
    }
    for (const std::unique_ptr<Tier>& tier : m_tiers)
        if (persistent_too || !tier->traits().persistent)
            tier->clear();
}

void Engine::maintain(std::stop_token stop)
{
    credit_uses();
    for (std::size_t i = 0; i < m_tiers.size() && !stop.stop_requested(); ++i)
        settle_victims(i, m_tiers[i]->maintain(stop));
    write_stats();
}

void Engine::start_maintenance()
{
    if (m_options.maintenance != Maintenance::background || m_maintenance_started.load(std::memory_order_acquire))
        return;
    const std::lock_guard lock(m_maintenance_mutex);
    if (m_maintenance_started.exchange(true))
        return;
    m_maintenance = std::jthread([this](std::stop_token stop) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock asleep(mutex);
        while (!stop.stop_requested()) {
            wake.wait_for(asleep, stop, m_options.maintenance_interval, [] { return false; });
            if (!stop.stop_requested())
                maintain(stop);
        }
    });
}

Tier* Engine::keeper_of_notes() const
{
    for (const std::unique_ptr<Tier>& tier : m_tiers)
        if (tier->traits().persistent)
            return tier.get();
    return nullptr;
}

Stats Engine::counted() const
{
    Stats stats;
    stats.outages = m_counters.sum(Count::outages);
    stats.stores = m_counters.sum(Count::stores);
    stats.makes = m_counters.sum(Count::makes);
    stats.make_failures = m_counters.sum(Count::make_failures);
    stats.failures_replayed = m_counters.sum(Count::failures_replayed);
    stats.coalesced = m_counters.sum(Count::coalesced);
    stats.forbidden = m_counters.sum(Count::forbidden);
    stats.dropped_stores = m_counters.sum(Count::dropped_stores);
    stats.make_ns_spent = m_counters.sum(Count::make_ns_spent);
    for (std::size_t why = 0; why < k_miss_reasons; ++why)
        stats.misses[why] = m_counters.misses(static_cast<Miss>(why));
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        TierStats tier;
        tier.name = m_names[i];
        tier.hits = m_counters.sum(i, TierCount::hits);
        tier.stores = m_counters.sum(i, TierCount::stores);
        tier.evictions = m_counters.sum(i, TierCount::evictions);
        tier.demotions = m_counters.sum(i, TierCount::demotions);
        tier.promotions = m_counters.sum(i, TierCount::promotions);
        tier.corrupt = m_counters.sum(i, TierCount::corrupt);
        tier.outages = m_counters.sum(i, TierCount::outages);
        tier.latency = m_latency[i].read();
        stats.hits += tier.hits;
        stats.make_ns_saved += m_counters.sum(i, TierCount::saved_ns);
        stats.tiers.push_back(std::move(tier));
    }
    return stats;
}

Stats Engine::stats(Scope scope)
{
    Stats stats;
    {
        const std::lock_guard lock(m_stats_mutex);
        const Stats now = counted();
        Tier* keeper = scope == Scope::directory ? keeper_of_notes() : nullptr;
        if (keeper) {
            // In lookup order, tiers of ours first; then those that only other processes had.
            stats = counts_since(now, m_stats_written);
            add_counts(stats, decode_stats(keeper->read_note(k_stats_note)));
        } else {
            stats = counts_since(now, m_stats_base);
        }
    }
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        const TierUsage usage = m_tiers[i]->usage();
        stats.tiers[i].capacity_bytes = m_tiers[i]->limits().max_bytes;
        stats.tiers[i].used_bytes = usage.bytes;
        stats.tiers[i].entries = usage.entries;
    }
    return stats;
}

void Engine::write_stats()
{
    Tier* keeper = keeper_of_notes();
    if (!keeper)
        return;
    const std::lock_guard lock(m_stats_mutex);
    const Stats now = counted();
    const Stats fresh = counts_since(now, m_stats_written);
    if (fresh.lookups() + fresh.stores + fresh.makes + fresh.evictions() + fresh.corrupt() == 0)
        return;
    const bool written = keeper->update_note(k_stats_note, [&](ByteView old) {
        Stats all = decode_stats(old);
        add_counts(all, fresh);
        return encode_stats(all);
    });
    if (written)
        m_stats_written = now;
}

void Engine::write_stats_now_and_then(std::uint64_t now_ns)
{
    std::uint64_t due = m_stats_due_ns.load(std::memory_order_relaxed);
    if (now_ns < due || !m_stats_due_ns.compare_exchange_strong(due, now_ns + k_stats_interval_ns))
        return;
    // The first hit of a process only starts the clock: a short-lived one writes once, when it ends.
    if (due != 0)
        write_stats();
}

void Engine::reset_stats()
{
    const std::lock_guard lock(m_stats_mutex);
    m_stats_base = counted();
    m_stats_written = m_stats_base;
    if (Tier* keeper = keeper_of_notes())
        keeper->update_note(k_stats_note, [](ByteView) { return encode_stats({}); });
}

}  // namespace hearth::engine
