// Writes entries to an archive or a bundle.

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hex.hpp"
#include "base/problems.hpp"
#include "engine/parts.hpp"
#include "format/acceptance.hpp"
#include "format/archive.hpp"
#include "format/bundle_writer.hpp"
#include "format/entry.hpp"
#include "hearth/admin.hpp"
#include "hearth/bundle.hpp"

#include <algorithm>
#include <span>

namespace hearth {

namespace {

// An entry on its way to a file, and the first tier to take it from.
struct Carried {
    Key key;
    std::size_t tier = 0;
};

// Who may be trusted to have compiled what goes into a file. None: the file is not signed, and anything may.
using Vouching = std::optional<Trust>;

// Writes entries of this machine to one file.
class Carrier {
public:
    Carrier(engine::Stack& stack, Vouching vouching, const Progress& progress)
        : m_stack(stack), m_tiers(stack.tiers()), m_vouching(std::move(vouching)), m_progress(progress)
    {
    }

    std::optional<std::vector<Carried>> choose(const std::function<bool(const EntryRow&)>& wanted);
    Result<bool> carry_out(std::span<const Carried> chosen, const std::function<Status(const Bytes&)>& take);
    TransferReport& report() { return m_report; }

private:
    Result<Bytes> encoded_entry(const Carried& carried, Miss& why);

    engine::Stack& m_stack;
    const engine::Tiers& m_tiers;
    const Vouching m_vouching;
    const Progress& m_progress;
    TransferReport m_report;
    std::uint64_t m_left_out = 0;
};

// The entries of this machine that are to be written, in the order of their keys: the same entries give the same file.
// None when `progress` said stop.
std::optional<std::vector<Carried>> Carrier::choose(const std::function<bool(const EntryRow&)>& wanted)
{
    std::vector<Carried> chosen;
    std::uint64_t looked_at = 0;
    bool go_on = true;
    m_stack.list([&](const EntryRow& row) {
        go_on = !m_progress || m_progress(++looked_at, 0);
        if (!go_on || (wanted && !wanted(row)))
            return go_on;
        chosen.push_back({row.key, m_tiers.named(row.tier)});
        return true;
    });
    if (!go_on)
        return std::nullopt;
    std::sort(chosen.begin(), chosen.end(), [](const Carried& a, const Carried& b) { return a.key < b.key; });
    return chosen;
}

// The entry's bytes from the first tier that has them, with any signature they have. If no tier has them, the entry is
// encoded. If the file is signed, only what may be: Miss::untrusted if no tier has such an entry.
Result<Bytes> Carrier::encoded_entry(const Carried& carried, Miss& why)
{
    Found best;
    for (std::size_t i = carried.tier; i < m_tiers.size() && !(best && best.encoded); ++i) {
        if (i != carried.tier && !m_tiers[i].keeps_here)
            continue;
        Found found = m_tiers[i]->peek(carried.key);
        if (found && m_vouching &&
            !format::may_be_signed(*found.artifact, carried.key, found.encoded ? found.encoded->view() : ByteView{},
                                   *m_vouching))
            found = Found::miss(Miss::untrusted);
        if (found || (!best && (i == carried.tier || found.why == Miss::untrusted)))
            best = std::move(found);
    }
    why = best.why;
    if (!best)
        return Bytes{};
    return best.encoded ? *best.encoded : format::encode_entry(carried.key, *best.artifact);
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
        if (encoded.empty() && m_vouching && why == Miss::untrusted) {
            ++m_left_out;
            continue;
        }
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
    if (m_left_out != 0)
        base::tell(m_report.problems,
                   fmt::format("Left out: {} that no trusted key has signed and this process has not compiled. Compile "
                               "them with HEARTH_SIGN_WITH set, or name the keys of whoever did in "
                               "HEARTH_TRUSTED_KEYS.",
                               m_left_out == 1 ? "1 entry" : fmt::format("{} entries", m_left_out)));
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
    Carrier carrier(cache.parts().stack, std::nullopt, progress);
    const std::optional<std::vector<Carried>> chosen =
        carrier.choose([&](const EntryRow& row) { return format::may_travel(row) && (!choose || choose(row)); });
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
    const auto lasting = [&](const EntryRow& row) { return format::may_travel(row) && (!choose || choose(row)); };
    Vouching vouching;
    if (options.sign_with) {
        vouching = options.inputs;
        vouching->sign_with = {*options.sign_with};
    }
    Carrier carrier(cache.parts().stack, std::move(vouching), progress);
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
