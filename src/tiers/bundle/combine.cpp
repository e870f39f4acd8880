// Bundles that are written from other bundles.

#include "base/error.hpp"
#include "base/hex.hpp"
#include "base/problems.hpp"
#include "format/bundle_writer.hpp"
#include "format/entry.hpp"
#include "hearth/bundle.hpp"
#include "tiers/bundle/contents.hpp"
#include "tiers/bundle/open_bundle.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <span>

namespace hearth::bundles {

namespace {

constexpr std::size_t k_keys_told = 100;

using File = std::unique_ptr<format::BundleFile>;

// An entry that goes into the new bundle, and where it is taken from.
struct Chosen {
    const format::BundleFile* file = nullptr;
    format::BundleRow row;
};
// In the order of their keys, as they are written.
using Choice = std::map<Key, Chosen>;

void tell_of_damage(const format::BundleFile& file, std::uint64_t rows, WriteReport& report)
{
    report.rejected += rows;
    base::tell(report.problems, fmt::format("The index of {} is damaged, and {} entries cannot be found. Get the file "
                                            "again.",
                                            file.path(), rows));
}

// Whether both give the same result; when they were compiled, and what that cost, does not count.
bool same_result(const Chosen& a, const Chosen& b)
{
    if (a.row.digest == b.row.digest)
        return true;
    Miss why{};
    const format::DecodedEntry first = format::decode_entry(tiers::read_vouched(*a.file, a.row, why), a.row.key);
    const format::DecodedEntry second = format::decode_entry(tiers::read_vouched(*b.file, b.row, why), b.row.key);
    return first.artifact && second.artifact && first.artifact->sections == second.artifact->sections &&
           first.artifact->status == second.artifact->status;
}

void note_difference(const Key& key, WriteReport& report)
{
    ++report.differing;
    if (report.differing_keys.size() < k_keys_told)
        report.differing_keys.push_back(key);
}

// The bytes of an entry; if the chosen bundle is damaged there, from another one.
Bytes bytes_of(const Chosen& chosen, std::span<const File> files, Miss& why)
{
    Bytes bytes = tiers::read_vouched(*chosen.file, chosen.row, why);
    for (const File& file : files) {
        if (!bytes.empty())
            break;
        Miss ignored{};
        if (const auto place = file.get() == chosen.file ? std::nullopt : file->find(chosen.row.key, ignored))
            bytes = tiers::read_vouched(*file, place->row, ignored);
    }
    return bytes;
}

Error stopped(const std::string& path)
{
    return error(Code::timeout, "{} was not written: it was stopped.", path);
}

Result<WriteReport> write(const std::string& path, const Choice& choice, std::span<const File> files,
                          const base::Sha256& delta_over, const WriteOptions& options, const Progress& progress,
                          WriteReport report)
{
    format::BundleWriter writer(base::system_files(), path, choice.size());
    std::uint64_t done = 0;
    for (const auto& [key, chosen] : choice) {
        if (progress && !progress(done++, choice.size()))
            return stopped(path);
        Miss why{};
        const Bytes bytes = bytes_of(chosen, files, why);
        if (bytes.empty()) {
            ++report.rejected;
            base::tell(report.problems, fmt::format("Entry {} in {} could not be read ({}); left out.", key.hex(),
                                                    chosen.file->path(), to_string(why)));
            continue;
        }
        HEARTH_TRY(writer.add(bytes));
    }
    const Result<format::BundleWriter::Written> written =
        writer.finish(delta_over, options.sign_with ? &*options.sign_with : nullptr);
    HEARTH_TRY(written);
    if (progress)
        progress(choice.size(), choice.size());
    report.id = base::to_hex(std::as_bytes(std::span(written->root)));
    report.entries = written->entries;
    report.bytes = written->bytes;
    return report;
}

// Of a bundle whose entries go into the new one: its signature must allow that.
Trust trust_of_source(const WriteOptions& options)
{
    Trust trust = options.inputs;
    if (options.sign_with)
        trust.sign_with = {*options.sign_with};
    return trust;
}

}  // namespace

Result<WriteReport> merge(const std::string& path, const std::vector<std::string>& bundles, const WriteOptions& options,
                          const Progress& progress)
{
    if (bundles.empty())
        return error(Code::invalid_argument, "There is nothing to merge. Name at least one bundle.");
    WriteReport report;
    std::vector<File> files;
    Choice choice;
    std::uint64_t looked_at = 0;
    bool go_on = true;
    for (const std::string& one : bundles) {
        Result<File> file = tiers::open_bundle(base::system_files(), one, trust_of_source(options));
        HEARTH_TRY(file);
        const format::BundleFile& from = **file;
        if (const std::uint64_t whole = from.head().header().file_size(); from.size() != whole)
            base::tell(report.problems,
                       fmt::format("{} is {} bytes long and should be {}: entries may be missing. Get the file again.",
                                   one, from.size(), whole));
        const auto take = [&](std::size_t /*number*/, const format::BundleRow& row) {
            const auto [known, fresh] = choice.try_emplace(row.key, Chosen{&from, row});
            if (!fresh && same_result(known->second, {&from, row}))
                ++report.same;
            else if (!fresh)
                note_difference(row.key, report);
            return go_on = !progress || progress(++looked_at, 0);
        };
        tiers::for_each_row(from, take,
                            [&](std::size_t /*page*/, std::uint64_t rows) { tell_of_damage(from, rows, report); });
        if (!go_on)
            return stopped(path);
        files.push_back(*std::move(file));
    }
    return write(path, choice, files, {}, options, progress, std::move(report));
}

Result<WriteReport> diff(const std::string& path, const std::string& older, const std::string& newer,
                         const WriteOptions& options, const Progress& progress)
{
    std::vector<File> files;
    const auto open = [&](const std::string& one, const Trust& trust) -> Status {
        HEARTH_TRY_SET(File file, tiers::open_bundle(base::system_files(), one, trust));
        if (const std::uint64_t whole = file->head().header().file_size(); file->size() != whole)
            return error(Code::corrupt,
                         "{} is {} bytes long and should be {}, so it cannot be compared. Get the file again.", one,
                         file->size(), whole);
        files.push_back(std::move(file));
        return {};
    };
    HEARTH_TRY(open(older, options.inputs));
    HEARTH_TRY(open(newer, trust_of_source(options)));
    const format::BundleFile& before = *files[0];
    const format::BundleFile& after = *files[1];
    WriteReport report;
    Choice choice;
    std::uint64_t in_both = 0;
    std::uint64_t looked_at = 0;
    bool go_on = true;
    const auto compare = [&](std::size_t /*number*/, const format::BundleRow& row) {
        const Chosen now{&after, row};
        Miss why{};
        const std::optional<format::BundleFile::Place> then = before.find(row.key, why);
        in_both += then ? 1 : 0;
        if (then && same_result({&before, then->row}, now)) {
            ++report.same;
        } else {
            if (then)
                note_difference(row.key, report);
            choice.emplace(row.key, now);
        }
        return go_on = !progress || progress(++looked_at, after.head().header().entries);
    };
    tiers::for_each_row(after, compare,
                        [&](std::size_t /*page*/, std::uint64_t rows) { tell_of_damage(after, rows, report); });
    if (!go_on)
        return stopped(path);
    std::uint64_t before_rows = 0;
    tiers::for_each_row(before, [&](std::size_t /*number*/, const format::BundleRow& /*row*/) {
        ++before_rows;
        return true;
    });
    report.gone = before_rows - in_both;
    // A delta takes entries from the newer bundle only.
    return write(path, choice, std::span(files).subspan(1), before.head().root(), options, progress, std::move(report));
}

}  // namespace hearth::bundles
