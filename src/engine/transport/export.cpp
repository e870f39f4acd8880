// Writes entries to an archive or a bundle.

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hex.hpp"
#include "base/problems.hpp"
#include "engine/parts.hpp"
#include "format/archive.hpp"
#include "format/bundle_writer.hpp"
#include "format/entry.hpp"
#include "hearth/admin.hpp"
#include "hearth/bundle.hpp"

#include <algorithm>
#include <span>

namespace hearth {

namespace {

using engine::k_none;

// The bundles whose entries may be written to a file.
enum class Sources : std::uint8_t {
    all,
    checked,  // only those whose own signature was checked
};

// An entry on its way to a file, and the first tier to take it from.
struct Carried {
    Key key;
    std::size_t tier = 0;
};

// Writes entries of this machine to one file.
class Carrier {
public:
    Carrier(engine::Stack& stack, Sources sources, const Progress& progress)
        : m_stack(stack), m_tiers(stack.tiers()), m_sources(sources), m_progress(progress)
    {
    }

    std::optional<std::vector<Carried>> choose(const std::function<bool(const EntryRow&)>& wanted);
    Result<bool> carry_out(std::span<const Carried> chosen, const std::function<Status(const Bytes&)>& take);
    TransferReport& report() { return m_report; }

private:
    bool is_a_source(std::size_t tier) const;
    std::size_t carried_from(const EntryRow& row);
    Result<Bytes> encoded_entry(const Carried& carried, Miss& why);

    engine::Stack& m_stack;
    const engine::Tiers& m_tiers;
    const Sources m_sources;
    const Progress& m_progress;
    TransferReport m_report;
};

bool Carrier::is_a_source(std::size_t tier) const
{
    const TierTraits& traits = m_tiers[tier].traits;
    return m_sources == Sources::all || !traits.fixed || traits.demands_signatures;
}

// The tier that a listed entry is taken from, or none. An entry in a volatile tier may have come from any bundle that
// has it too.
std::size_t Carrier::carried_from(const EntryRow& row)
{
    const std::size_t first = m_tiers.named(row.tier);
    if (m_sources == Sources::all)
        return first;
    bool elsewhere = false;
    for (std::size_t i = first; i < m_tiers.size(); ++i) {
        const TierTraits& traits = m_tiers[i].traits;
        if (!traits.persistent || traits.remote || !m_tiers[i]->contains(row.key))
            continue;
        if (is_a_source(i))
            return i;
        elsewhere = true;
    }
    return elsewhere ? k_none : first;
}

// The entries of this machine that are to be written, in the order of their keys: the same entries give the same file.
// None when `progress` said stop.
std::optional<std::vector<Carried>> Carrier::choose(const std::function<bool(const EntryRow&)>& wanted)
{
    std::vector<Carried> chosen;
    std::uint64_t looked_at = 0;
    std::uint64_t left_out = 0;
    bool go_on = true;
    m_stack.list([&](const EntryRow& row) {
        go_on = !m_progress || m_progress(++looked_at, 0);
        if (!go_on || (wanted && !wanted(row)))
            return go_on;
        if (const std::size_t from = carried_from(row); from != k_none)
            chosen.push_back({row.key, from});
        else
            ++left_out;
        return true;
    });
    if (!go_on)
        return std::nullopt;
    if (left_out != 0)
        base::tell(
            m_report.problems,
            fmt::format("Left out: {} that only bundles have whose signatures were not checked. Demand those with "
                        "HEARTH_DEMAND_SIGNATURES=bundles, or sign such a bundle with `hearth bundle merge`.",
                        left_out == 1 ? "1 entry" : fmt::format("{} entries", left_out)));
    std::sort(chosen.begin(), chosen.end(), [](const Carried& a, const Carried& b) { return a.key < b.key; });
    return chosen;
}

// The entry's bytes from the first tier that has them, with any signature they have. If no tier has them, the entry is
// encoded anew.
Result<Bytes> Carrier::encoded_entry(const Carried& carried, Miss& why)
{
    Found found = m_tiers[carried.tier]->peek(carried.key);
    for (std::size_t i = carried.tier + 1; i < m_tiers.size() && !(found && found.encoded); ++i) {
        if (const TierTraits& traits = m_tiers[i].traits; !traits.persistent || traits.remote)
            continue;
        if (!is_a_source(i))
            continue;
        if (Found other = m_tiers[i]->peek(carried.key))
            found = std::move(other);
    }
    why = found.why;
    if (!found)
        return Bytes{};
    return found.encoded ? *found.encoded : format::encode_entry(carried.key, *found.artifact);
}

// Hands each chosen entry to `take`. False: `progress` said stop.
Result<bool> Carrier::carry_out(std::span<const Carried> chosen, const std::function<Status(const Bytes&)>& take)
{
    std::uint64_t done = 0;
    for (const Carried& carried : chosen) {
        if (m_progress && !m_progress(done++, chosen.size()))
            return false;
        Miss why{};
        HEARTH_TRY_SET(const Bytes encoded, encoded_entry(carried, why));
        if (encoded.empty()) {
            ++m_report.rejected;
            base::tell(m_report.problems,
                       fmt::format("Entry {} could not be read ({}); left out.", carried.key.hex(), to_string(why)));
            continue;
        }
        HEARTH_TRY(take(encoded));
        ++m_report.entries;
        m_report.bytes += encoded.size();
    }
    return !m_progress || m_progress(chosen.size(), chosen.size());
}

Error stopped(const std::string& path)
{
    return error(Code::timeout, "{} was not written: it was stopped.", path);
}

}  // namespace

Result<TransferReport> admin::export_to(Cache& cache, const std::string& path, const Choose& choose,
                                        const Progress& progress)
{
    Carrier carrier(cache.parts().stack, Sources::all, progress);
    const std::optional<std::vector<Carried>> chosen = carrier.choose(choose);
    if (!chosen)
        return stopped(path);
    format::ArchiveWriter archive(base::system_files(), path);
    HEARTH_TRY_SET(const bool whole,
                   carrier.carry_out(*chosen, [&](const Bytes& entry) { return archive.add(entry); }));
    if (!whole)
        return stopped(path);
    HEARTH_TRY(archive.finish());
    return std::move(carrier.report());
}

Result<bundles::WriteReport> bundles::create(const std::string& path, Cache& cache, const Choose& choose,
                                             const WriteOptions& options, const Progress& progress)
{
    // A failed compile is remembered only for a short time, and a derived entry is valid only on this machine.
    const auto lasting = [&](const EntryRow& row) {
        return row.status == 0 && row.metadata.compiler != engine::k_of_this_machine && (!choose || choose(row));
    };
    // A signature says that an entry is ours. Nobody has said so of the entries in a bundle from elsewhere.
    Carrier carrier(cache.parts().stack, options.sign_with ? Sources::checked : Sources::all, progress);
    const std::optional<std::vector<Carried>> chosen = carrier.choose(lasting);
    if (!chosen)
        return stopped(path);
    format::BundleWriter writer(base::system_files(), path, chosen->size());
    HEARTH_TRY_SET(const bool whole, carrier.carry_out(*chosen, [&](const Bytes& entry) { return writer.add(entry); }));
    if (!whole)
        return stopped(path);
    HEARTH_TRY_SET(const format::BundleWriter::Written written,
                   writer.finish({}, options.sign_with ? &*options.sign_with : nullptr));
    WriteReport report;
    report.id = base::to_hex(std::as_bytes(std::span(written.root)));
    report.entries = written.entries;
    report.bytes = written.bytes;
    report.rejected = carrier.report().rejected;
    report.problems = std::move(carrier.report().problems);
    return report;
}

}  // namespace hearth
