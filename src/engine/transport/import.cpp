// Imports the entries of an archive.

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/problems.hpp"
#include "engine/parts.hpp"
#include "format/acceptance.hpp"
#include "format/archive.hpp"
#include "format/entry.hpp"
#include "hearth/admin.hpp"

namespace hearth {

namespace {

struct Taken {
    bool stored = false;             // false: it was there already
    std::optional<Error> refused{};  // no tier takes it, ever
};

// Stores an entry straight into the persistent tiers, as the bytes it came in. Memory is for what is used.
Result<Taken> take_in(engine::Stack& stack, const Key& key, const Entry& entry)
{
    Taken taken;
    bool there = false;
    std::optional<Error> refused;
    const engine::Tiers& tiers = stack.tiers();
    const engine::Writes::Ticket read = stack.writes().now();
    for (std::size_t i = 0; i < tiers.size(); ++i) {
        if (!tiers[i].keeps_here || !tiers[i].traits.writable)
            continue;
        if (tiers[i]->contains(key))
            there = true;
        else if (const Result<StoreReport> put = stack.copy_in(i, key, entry, read))
            taken.stored = true;
        else
            refused = put.error();
    }
    // If it was written here meanwhile, that counts, and it is there already.
    if (taken.stored || there || !engine::Writes::Copy(stack.writes(), key, read))
        return taken;
    if (!refused)
        return error(Code::unavailable, "There is no writable persistent tier to import into.");
    if (refused->code != Code::too_large && refused->code != Code::denied)
        return *refused;
    taken.refused = std::move(refused);
    return taken;
}

}  // namespace

Result<TransferReport> admin::import_from(Cache& cache, const std::string& path, const Progress& progress)
{
    HEARTH_TRY_SET(format::ArchiveReader archive, format::ArchiveReader::open(base::system_files(), path));
    TransferReport report;
    for (;;) {
        Result<std::optional<Bytes>> next = archive.next();
        if (!next) {
            base::tell(report.problems, next.error().message);
            ++report.rejected;
            return report.entries + report.already_there == 0 ? Result<TransferReport>(next.error()) : report;
        }
        if (!*next)
            return report;
        if (progress && !progress(archive.position(), archive.size()))
            return report;
        const Bytes& bytes = **next;
        const std::optional<Key> key = format::claimed_key(bytes);
        const format::DecodedEntry decoded = key ? format::decode_entry(bytes, *key) : format::DecodedEntry{};
        if (!decoded.artifact) {
            ++report.rejected;
            base::tell(report.problems,
                       fmt::format("The entry before byte {} is damaged or of another format version; rejected.",
                                   archive.position()));
            continue;
        }
        if (!format::may_travel(*decoded.artifact))
            continue;  // older versions export them
        HEARTH_TRY_SET(const Taken taken, take_in(cache.parts().stack, *key, Entry(decoded.artifact, bytes)));
        if (taken.refused) {
            ++report.rejected;
            base::tell(report.problems, taken.refused->message);
            continue;
        }
        (taken.stored ? report.entries : report.already_there) += 1;
        report.bytes += taken.stored ? bytes.size() : 0;
    }
}

}  // namespace hearth
