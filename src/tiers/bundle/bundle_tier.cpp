#include "tiers/bundle/bundle_tier.hpp"

#include "base/error.hpp"
#include "format/acceptance.hpp"
#include "tiers/bundle/contents.hpp"
#include "tiers/bundle/open_bundle.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>

namespace hearth {

TierSpec bundle(BundleOptions options)
{
    return {options.name, [options](const TierContext& context) {
                return tiers::BundleTier::open(options, context, base::system_files());
            }};
}

TierSpec bundle(std::string path)
{
    return bundle(BundleOptions{.path = std::move(path)});
}

namespace tiers {

namespace {

std::uint32_t to_seconds(WallTime time)
{
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds, 0, UINT32_MAX));
}

}  // namespace

Result<std::unique_ptr<Tier>> BundleTier::open(const BundleOptions& options, const TierContext& context,
                                               base::Files& files)
{
    Result<std::unique_ptr<format::BundleFile>> file = open_bundle(files, options.path, options.trust);
    HEARTH_TRY(file);
    return {std::make_unique<BundleTier>(options, context, *std::move(file))};
}

BundleTier::BundleTier(const BundleOptions& options, const TierContext& context,
                       std::unique_ptr<format::BundleFile> file)
    : m_name(options.name), m_clock(*context.clock), m_signed_only(format::demands_signatures(options.trust)),
      m_max_entry_bytes(options.max_entry_bytes), m_file(std::move(file)),
      m_uses(static_cast<Use*>(std::calloc(m_file->head().header().entries, sizeof(Use))))
{
}

TierTraits BundleTier::traits() const
{
    return {.persistent = true, .writable = false, .demands_signatures = m_signed_only, .fixed = true};
}

Found BundleTier::read(const format::BundleFile::Place& place, Bytes& bytes) const
{
    int error = 0;
    Miss why{};
    // The entry's own checksum finds damage. Only the digest in the index, which the signature covers, finds forgery.
    bytes = m_signed_only ? read_vouched(*m_file, place.row, why) : m_file->read(place.row, error);
    if (bytes.empty())
        return Found::miss(m_signed_only ? why : format::miss_of(error));
    const Trust not_asked;
    return format::accept_entry(
        bytes, place.row.key,
        {not_asked, m_clock, {}, m_max_entry_bytes, m_signed_only ? Origin::trusted : Origin::elsewhere});
}

Found BundleTier::peek(const Key& key)
{
    Miss why{};
    const std::optional<format::BundleFile::Place> place = m_file->find(key, why);
    if (!place)
        return Found::miss(why);
    Bytes bytes;
    Found found = read(*place, bytes);
    if (found)
        found.encoded = std::make_unique<const Bytes>(std::move(bytes));
    return found;
}

Found BundleTier::find(const Key& key)
{
    Miss why{};
    const std::optional<format::BundleFile::Place> place = m_file->find(key, why);
    if (!place)
        return Found::miss(why);
    Bytes bytes;
    Found found = read(*place, bytes);
    if (!found || !m_uses)
        return found;
    // Both are relaxed: they are only counts, and order nothing.
    Use& use = m_uses[place->number];
    found.uses = std::atomic_ref(use.count).fetch_add(1, std::memory_order_relaxed) + 1;
    std::atomic_ref(use.seconds).store(to_seconds(m_clock.now()), std::memory_order_relaxed);
    return found;
}

Result<StoreReport> BundleTier::store(const Key& /*key*/, const Entry& /*entry*/, Victims /*victims*/,
                                      std::vector<Victim>& /*gone*/)
{
    return error(Code::unavailable, "Tier \"{}\" is the bundle {}, which is only read.", m_name, m_file->path());
}

bool BundleTier::contains(const Key& key)
{
    Miss why{};
    const std::optional<format::BundleFile::Place> place = m_file->find(key, why);
    return place && m_file->reaches(place->row);
}

TierUsage BundleTier::usage()
{
    const format::BundleHeader& header = m_file->head().header();
    if (m_file->size() >= header.file_size())
        return {header.entry_bytes, header.entries};
    TierUsage reached;
    for_each_row(*m_file, [&](std::size_t /*number*/, const format::BundleRow& row) {
        if (m_file->reaches(row)) {
            reached.bytes += row.size;
            ++reached.entries;
        }
        return true;
    });
    return reached;
}

EntryRow BundleTier::row_of(std::size_t number, const format::BundleRow& row) const
{
    EntryRow described = describe(*m_file, row);
    described.tier = m_name;
    if (!m_uses)
        return described;
    Use& use = m_uses[number];
    described.uses = std::atomic_ref(use.count).load(std::memory_order_relaxed);
    described.last_used = WallTime(std::chrono::seconds(std::atomic_ref(use.seconds).load(std::memory_order_relaxed)));
    return described;
}

std::optional<EntryRow> BundleTier::info(const Key& key)
{
    Miss why{};
    const std::optional<format::BundleFile::Place> place = m_file->find(key, why);
    if (!place || !m_file->reaches(place->row))
        return std::nullopt;
    return row_of(place->number, place->row);
}

void BundleTier::for_each(const std::function<bool(const EntryRow&)>& visit)
{
    for_each_row(*m_file, [&](std::size_t number, const format::BundleRow& row) {
        return !m_file->reaches(row) || visit(row_of(number, row));
    });
}

VerifyReport BundleTier::verify(Repair /*repair*/, const Progress& progress)
{
    return verify_contents(*m_file, progress);
}

}  // namespace tiers

}  // namespace hearth
