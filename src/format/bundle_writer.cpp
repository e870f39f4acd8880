#include "format/bundle_writer.hpp"

#include "base/error.hpp"
#include "format/entry.hpp"
#include "format/signature.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::format {

namespace {

constexpr std::size_t k_moved_at_once = 1 << 20;

void count(std::map<std::string, std::uint64_t>& counts, const std::string& name)
{
    if (name.empty() || name.size() > k_max_bundle_name_bytes)
        return;
    // Entries always come in the same order, so the first names are the same each time.
    if (counts.size() < k_max_bundle_names || counts.contains(name))
        ++counts[name];
}

std::vector<bundles::Named> named(const std::map<std::string, std::uint64_t>& counts)
{
    std::vector<bundles::Named> names;
    names.reserve(counts.size());
    for (const auto& [name, entries] : counts)
        names.push_back({name, entries});
    return names;
}

}  // namespace

BundleWriter::BundleWriter(base::Files& files, std::string path, std::uint64_t announced)
    : m_path(std::move(path)), m_file(files, m_path)
{
    BundleHeader header;
    header.entries = announced;
    header.facts_size = k_bundle_facts_unit;  // few need more room
    m_entries_at = header.entries_at();
}

Status BundleWriter::add(ByteView entry)
{
    const DecodedHead decoded = decode_head(entry);
    if (decoded.outcome != DecodedHead::Outcome::ok || without_signature(entry).size() != decoded.head.total)
        return Error{decoded.outcome == DecodedHead::Outcome::other_version ? Code::other_version : Code::corrupt,
                     fmt::format("{} bytes that are no entry of format {} cannot go into a bundle.", entry.size(),
                                 k_entry_version),
                     {}};
    const std::uint64_t entries = m_rows.size() / k_bundle_row_size;
    if (entries == k_max_bundle_entries || entry.size() > k_max_bundle_bytes - m_entry_bytes)
        return error(Code::too_large,
                     "{} would hold more than a bundle can ({} entries of {} bytes). Make several of it.", m_path,
                     k_max_bundle_entries, k_max_bundle_bytes);
    BundleRow row{decoded.head.key, base::sha256(entry), m_entry_bytes, entry.size()};
    if (entries != 0 && bundle_row(as_bytes(m_rows), entries - 1).key >= row.key)
        return error(Code::invalid_argument,
                     "Entry {} does not come after the one before it. Add entries in the order of their "
                     "keys.",
                     row.key.hex());
    m_file.write(entry, m_entries_at + m_entry_bytes);
    if (m_file.failed())
        return m_file.status();
    append_bundle_row(m_rows, row);
    m_entry_bytes += entry.size();
    count(m_targets, decoded.head.metadata.target);
    count(m_compilers, decoded.head.metadata.compiler);
    return {};
}

// Needed if the part before the entries turned out longer or shorter than the room that was left for it.
void BundleWriter::move_entries(std::uint64_t to)
{
    std::string part(std::min<std::uint64_t>(m_entry_bytes, k_moved_at_once), '\0');
    for (std::uint64_t done = 0; done < m_entry_bytes && !m_file.failed();) {
        const std::size_t size = std::min<std::uint64_t>(m_entry_bytes - done, part.size());
        // When entries move up, the last is moved first, so that nothing is overwritten that is still to be read.
        const std::uint64_t at = to < m_entries_at ? done : m_entry_bytes - done - size;
        m_file.read(part.data(), size, m_entries_at + at);
        m_file.write(as_bytes(part).first(size), to + at);
        done += size;
    }
    m_entries_at = to;
    m_file.truncate(to + m_entry_bytes);
}

Result<BundleWriter::Written> BundleWriter::finish(const base::Sha256& delta_over, const SigningKey* sign_with)
{
    if (m_file.failed())
        return m_file.status().error();
    const std::uint64_t entries = m_rows.size() / k_bundle_row_size;
    const Result<EncodedBundleHead> head = encode_bundle_head({delta_over, named(m_targets), named(m_compilers)},
                                                              entries, m_entry_bytes, m_rows, sign_with);
    HEARTH_TRY(head);
    if (const std::uint64_t entries_at = head->bytes.size() + m_rows.size(); entries_at != m_entries_at)
        move_entries(entries_at);
    m_file.write(as_bytes(head->bytes), 0);
    m_file.write(as_bytes(m_rows), head->bytes.size());
    HEARTH_TRY(m_file.place());
    return Written{head->root, entries, m_entries_at + m_entry_bytes};
}

}  // namespace hearth::format
