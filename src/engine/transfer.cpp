// Entries carried out to an archive or a bundle, and in from an archive.

#include "base/files.hpp"
#include "base/hex.hpp"
#include "engine/engine.hpp"
#include "engine/problems.hpp"
#include "format/archive.hpp"
#include "format/bundle_writer.hpp"
#include "format/entry.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::engine {

namespace {

Error stopped(const std::string& path)
{
    return {Code::timeout, fmt::format("{} was not written: it was stopped.", path), {}};
}

}  // namespace

bool Engine::is_among(Sources sources, std::size_t tier) const
{
    const TierTraits traits = m_tiers[tier]->traits();
    return sources == Sources::all || !traits.fixed || traits.demands_signatures;
}

// The tier that a listed entry is taken from, or none. What a volatile tier holds may have come from any bundle that
// holds it too.
std::size_t Engine::carried_from(const EntryRow& row, Sources sources)
{
    const std::size_t first = tier_named(row.tier);
    if (sources == Sources::all)
        return first;
    bool elsewhere = false;
    for (std::size_t i = first; i < m_tiers.size(); ++i) {
        const TierTraits traits = m_tiers[i]->traits();
        if (!traits.persistent || traits.remote || !m_tiers[i]->contains(row.key))
            continue;
        if (is_among(sources, i))
            return i;
        elsewhere = true;
    }
    return elsewhere ? k_none : first;
}

// The entries of this machine that are to be carried out, in the order of their keys: the same entries give the same
// file. Nothing when `progress` said stop.
std::optional<std::vector<Engine::Carried>> Engine::choose_carried(const std::function<bool(const EntryRow&)>& choose,
                                                                   Sources sources, const Progress& progress,
                                                                   TransferReport& report)
{
    std::vector<Carried> chosen;
    std::uint64_t looked_at = 0;
    std::uint64_t left_out = 0;
    bool go_on = true;
    list([&](const EntryRow& row) {
        go_on = !progress || progress(++looked_at, 0);
        if (!go_on || (choose && !choose(row)))
            return go_on;
        if (const std::size_t from = carried_from(row, sources); from != k_none)
            chosen.push_back({row.key, from, sources});
        else
            ++left_out;
        return true;
    });
    if (!go_on)
        return std::nullopt;
    if (left_out != 0)
        tell(report.problems,
             fmt::format("Left out: {} that only bundles have whose signatures were not checked. Demand those with "
                         "HEARTH_DEMAND_SIGNATURES=bundles, or sign such a bundle with `hearth bundle merge`.",
                         left_out == 1 ? "1 entry" : fmt::format("{} entries", left_out)));
    std::sort(chosen.begin(), chosen.end(), [](const Carried& a, const Carried& b) { return a.key < b.key; });
    return chosen;
}

// An entry as it lies in the first tier that has its bytes, with the signature it may have; else as it is encoded anew.
Result<Bytes> Engine::encoded_entry(const Carried& carried, Miss& why)
{
    Found found = m_tiers[carried.tier]->peek(carried.key);
    for (std::size_t i = carried.tier + 1; i < m_tiers.size() && !(found && found.encoded); ++i) {
        if (const TierTraits traits = m_tiers[i]->traits(); !traits.persistent || traits.remote)
            continue;
        if (!is_among(carried.sources, i))
            continue;
        if (Found other = m_tiers[i]->peek(carried.key))
            found = std::move(other);
    }
    why = found.why;
    if (!found)
        return Bytes{};
    return found.encoded ? *found.encoded : format::encode_entry(carried.key, *found.artifact);
}

// Hands each of them to `take`. False: `progress` said stop.
Result<bool> Engine::carry_out(std::span<const Carried> chosen, const std::function<Status(const Bytes&)>& take,
                               const Progress& progress, TransferReport& report)
{
    std::uint64_t done = 0;
    for (const Carried& carried : chosen) {
        if (progress && !progress(done++, chosen.size()))
            return false;
        Miss why{};
        const Result<Bytes> encoded = encoded_entry(carried, why);
        if (!encoded)
            return encoded.error();
        if (encoded->empty()) {
            ++report.rejected;
            tell(report.problems,
                 fmt::format("Entry {} could not be read ({}); left out.", carried.key.hex(), to_string(why)));
            continue;
        }
        if (const Status taken = take(*encoded); !taken.ok())
            return taken.error();
        ++report.entries;
        report.bytes += encoded->size();
    }
    return !progress || progress(chosen.size(), chosen.size());
}

Result<TransferReport> Engine::export_to(const std::string& path, const std::function<bool(const EntryRow&)>& choose,
                                         const Progress& progress)
{
    TransferReport report;
    const std::optional<std::vector<Carried>> chosen = choose_carried(choose, Sources::all, progress, report);
    if (!chosen)
        return stopped(path);
    format::ArchiveWriter archive(base::system_files(), path);
    const auto add = [&](const Bytes& entry) { return archive.add(entry); };
    const Result<bool> carried = carry_out(*chosen, add, progress, report);
    if (!carried)
        return carried.error();
    if (!*carried)
        return stopped(path);
    if (const Status finished = archive.finish(); !finished.ok())
        return finished.error();
    return report;
}

Result<bundle::WriteReport> Engine::bundle_to(const std::string& path,
                                              const std::function<bool(const EntryRow&)>& choose,
                                              const bundle::WriteOptions& options, const Progress& progress)
{
    // A compile that failed is remembered for a minute, and what was derived here holds for this machine.
    const auto lasting = [&](const EntryRow& row) {
        return row.status == 0 && row.metadata.compiler != k_of_this_machine && (!choose || choose(row));
    };
    // A signature says that this is ours: nobody has said that of what lies in a bundle that came from elsewhere.
    const Sources sources = options.sign_with ? Sources::checked : Sources::all;
    TransferReport carried_out;
    const std::optional<std::vector<Carried>> chosen = choose_carried(lasting, sources, progress, carried_out);
    if (!chosen)
        return stopped(path);
    format::BundleWriter writer(base::system_files(), path, chosen->size());
    const auto add = [&](const Bytes& entry) { return writer.add(entry); };
    const Result<bool> carried = carry_out(*chosen, add, progress, carried_out);
    if (!carried)
        return carried.error();
    if (!*carried)
        return stopped(path);
    const Result<format::BundleWriter::Written> written =
        writer.finish({}, options.sign_with ? &*options.sign_with : nullptr);
    if (!written)
        return written.error();
    bundle::WriteReport report;
    report.id = base::to_hex(std::as_bytes(std::span(written->root)));
    report.entries = written->entries;
    report.bytes = written->bytes;
    report.rejected = carried_out.rejected;
    report.problems = std::move(carried_out.problems);
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
            if (!traits.persistent || !traits.writable || traits.remote)
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

}  // namespace hearth::engine

namespace hearth::bundle {

Result<WriteReport> create(const std::string& path, Cache& cache, const std::function<bool(const EntryRow&)>& choose,
                           const WriteOptions& options, const Progress& progress)
{
    return engine::Engine::of(cache).bundle_to(path, choose, options, progress);
}

}  // namespace hearth::bundle
