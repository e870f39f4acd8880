// Entries carried out to an archive and in from one.

#include "base/files.hpp"
#include "engine/engine.hpp"
#include "engine/problems.hpp"
#include "format/archive.hpp"
#include "format/entry.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::engine {

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
