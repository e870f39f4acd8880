// What can be learnt about a bundle without a cache.

#include "base/error.hpp"
#include "base/hex.hpp"
#include "hearth/bundle.hpp"
#include "tiers/bundle/contents.hpp"
#include "tiers/bundle/open_bundle.hpp"

#include <fmt/format.h>
#include <span>

namespace hearth::bundles {

namespace {

std::string hex(const base::Sha256& digest)
{
    return base::to_hex(std::as_bytes(std::span(digest)));
}

Result<Facts> facts_of(const format::BundleFile& file)
{
    const format::BundleHead& head = file.head();
    if (head.signer() && !head.is_signature_right())
        return error(Code::corrupt, "{} has a signature that is not one over its content. Get the file again.",
                     file.path());
    Facts facts;
    facts.id = hex(head.root());
    facts.entries = head.header().entries;
    facts.bytes = file.size();
    facts.targets = head.facts().targets;
    facts.compilers = head.facts().compilers;
    facts.signed_by = head.signer();
    if (head.facts().base != base::Sha256{})
        facts.base = hex(head.facts().base);
    return facts;
}

}  // namespace

Result<Facts> read(const std::string& path)
{
    const Result<std::unique_ptr<format::BundleFile>> file = tiers::open_bundle(base::system_files(), path, {});
    HEARTH_TRY(file);
    return facts_of(**file);
}

Status list(const std::string& path, const std::function<bool(const EntryRow&)>& visit)
{
    const Result<std::unique_ptr<format::BundleFile>> file = tiers::open_bundle(base::system_files(), path, {});
    HEARTH_TRY(file);
    std::uint64_t lost = 0;
    std::uint64_t behind_the_end = 0;
    bool go_on = true;
    tiers::for_each_row(
        **file,
        [&](std::size_t /*number*/, const format::BundleRow& row) {
            behind_the_end += (*file)->reaches(row) ? 0 : 1;
            return go_on = visit(tiers::describe(**file, row));
        },
        [&](std::size_t /*page*/, std::uint64_t rows) { lost += rows; });
    if (lost != 0)
        return error(Code::corrupt,
                     "Of the {} entries of {} {} are not listed: its index is damaged. Get the file again.",
                     (*file)->head().header().entries, (*file)->path(), lost);
    const format::BundleHeader& header = (*file)->head().header();
    if (go_on && (*file)->size() != header.file_size())
        return error(Code::corrupt,
                     "{} is {} bytes long and should be {}: of its {} entries {} behind its end. Get the "
                     "file again.",
                     (*file)->path(), (*file)->size(), header.file_size(), header.entries,
                     behind_the_end == 1 ? "1 lies" : fmt::format("{} lie", behind_the_end));
    return {};
}

Result<Verified> verify(const std::string& path, const Trust& trust, const Progress& progress)
{
    const Result<std::unique_ptr<format::BundleFile>> file = tiers::open_bundle(base::system_files(), path, trust);
    HEARTH_TRY(file);
    Result<Facts> facts = facts_of(**file);
    HEARTH_TRY(facts);
    Verified verified{tiers::verify_contents(**file, progress)};
    verified.facts = *std::move(facts);
    return verified;
}

}  // namespace hearth::bundles
