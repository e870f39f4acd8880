// What Hearth keeps in files, and what it carries from one machine to another.

#include "base/digest.hpp"
#include "base/wire.hpp"
#include "carry/capture.hpp"
#include "engine/stats/stats_note.hpp"
#include "format/archive.hpp"
#include "format/entry.hpp"
#include "format/recipe.hpp"
#include "format/request.hpp"
#include "fuzz/fuzz.hpp"
#include "oci/documents.hpp"
#include "support/forged_entry.hpp"
#include "support/single_file.hpp"
#include "watch/manifest.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace hearth;
namespace oci = cli::oci;

void try_archive(std::string_view input)
{
    const std::string bytes(input);
    test::SingleFile file(bytes);
    Result<format::ArchiveReader> archive = format::ArchiveReader::open(file, "input");
    if (!archive.ok()) {
        fuzz::require(archive.error().message.find("input") != std::string::npos, "an error names the file");
        return;
    }

    test::SingleFile copy;
    format::ArchiveWriter writer(copy, "copy");
    bool whole = false;
    for (std::uint64_t before = archive->position();; before = archive->position()) {
        const Result<std::optional<Bytes>> next = archive->next();
        whole = next.ok() && !*next;
        if (!next.ok() || whole)
            break;
        fuzz::require(archive->position() > before && archive->position() <= bytes.size(),
                      "the reading goes on, within the file");
        fuzz::require(writer.add(**next).ok(), "an entry that was read can be written");
    }
    if (whole) {
        static constexpr std::size_t k_header_bytes = 16;
        fuzz::require(writer.finish().ok() &&
                          bytes.substr(k_header_bytes).starts_with(copy.content().substr(k_header_bytes)),
                      "an archive that is read to its end is written again as it was");
    }
}

void try_capture(std::string_view text)
{
    const Result<cli::carry::Capture> capture = cli::carry::decode(as_bytes(text));
    if (!capture)
        return;
    fuzz::require(cli::carry::encode(*capture) == text, "a capture has one encoding");
    if (!cli::carry::check(*capture, {}).ok())
        return;
    for (const cli::carry::Item& item : capture->items) {
        fuzz::require(!item.path.empty() && item.path.front() != '/', "paths are below the directory");
        fuzz::require(("/" + item.path + "/").find("/../") == std::string::npos, "no path climbs");
        fuzz::require(!item.target.starts_with('/'), "links lead to places in the directory");
        fuzz::require(item.mode <= 0777, "modes are permissions");
    }
}

void check_entry(const std::string& bytes)
{
    using Outcome = format::DecodedHead::Outcome;
    const Bytes entry = Bytes::copy_of(bytes);
    const format::DecodedHead head = format::decode_head(entry);
    const std::optional<Key> claimed = format::claimed_key(entry);
    const format::DecodedEntry decoded = format::decode_entry(entry, claimed.value_or(Key{}));

    // A cut can only turn an answer into the wish for more bytes.
    if (!bytes.empty()) {
        const std::size_t cut = static_cast<unsigned char>(bytes.back()) * bytes.size() / 256;
        const format::DecodedHead of_cut = format::decode_head(entry.view().first(cut));
        fuzz::require(of_cut.outcome == Outcome::need_more || of_cut.outcome == head.outcome,
                      "a head reads the same from fewer bytes, or asks for more");
        fuzz::require(of_cut.outcome != Outcome::need_more || of_cut.needed > cut, "more is asked for than was given");
    }
    if (!decoded.artifact) {
        fuzz::require(decoded.why == Miss::corrupt || decoded.why == Miss::other_version,
                      "a miss says which of the two");
        return;
    }
    const Artifact& artifact = *decoded.artifact;
    fuzz::require(head.outcome == Outcome::ok, "an entry that decodes has a head that does");
    fuzz::require(head.head.key == claimed && head.head.total == bytes.size() &&
                      head.head.raw_bytes == artifact.size() && head.head.metadata == artifact.metadata &&
                      head.head.status == artifact.status && head.head.cost == artifact.cost &&
                      head.head.created == artifact.created && head.head.expires == artifact.expires,
                  "head and entry say the same");
    Key other = *claimed;
    other.digest[5] ^= 1U;
    fuzz::require(!format::decode_entry(entry, other).artifact, "an entry answers for its own key only");
    const Result<Bytes> again = format::encode_entry(*claimed, artifact, {.compression = 0});
    fuzz::require(again.ok(), "what was decoded can be encoded");
    const format::DecodedEntry decoded_again = format::decode_entry(*again, *claimed);
    fuzz::require(decoded_again.artifact && *decoded_again.artifact == artifact, "and comes back the same");
}

void try_entry(std::string_view input)
{
    std::string bytes(input);
    check_entry(bytes);
    // Sums stop nearly every mutation at the door. With sums made right it is the bounds that are tried.
    test::reseal(bytes);
    check_entry(bytes);
    if (bytes.size() >= test::k_table_at) {
        test::set_number<std::uint64_t>(bytes, test::k_total_at, bytes.size());
        test::reseal(bytes);
        check_entry(bytes);
    }
}

void try_manifest(std::string_view text)
{
    const auto manifest = watch::decode_manifest(as_bytes(text));
    if (manifest)
        fuzz::require(watch::encode_manifest(*manifest).text() == text, "a manifest has one encoding");
}

// The input is a document of an image layout that a stranger wrote: its index, or a manifest.

void check_descriptor(const Result<oci::Descriptor>& read)
{
    if (!read) {
        fuzz::require(!read.error().message.empty(), "what is refused is refused with a sentence");
        return;
    }
    fuzz::require(read->digest.size() == 64 && read->digest.find_first_not_of("0123456789abcdef") == std::string::npos,
                  "a blob is found by digits only");
}

void try_oci(std::string_view text)
{
    static_cast<void>(oci::check_layout(text, "layout"));
    check_descriptor(oci::manifest_in(text, "layout"));
    check_descriptor(oci::bundle_in(text, "layout"));
}

constexpr std::string_view k_magic = "\x89HRTHRC\n";
constexpr std::size_t k_checksum_at = 8;
constexpr std::size_t k_version_at = 24;
constexpr std::size_t k_size_at = 28;

// Makes the sums of all records right that are there as a whole.
void reseal_recipes(std::string& bytes)
{
    for (std::size_t at = bytes.find(k_magic); at != std::string::npos; at = bytes.find(k_magic, at + 1)) {
        if (bytes.size() - at < format::k_recipe_head_size)
            return;
        const std::string_view record = std::string_view(bytes).substr(at);
        const auto size = base::WireReader(as_bytes(record.substr(k_size_at))).number<std::uint32_t>();
        if (size > record.size() - format::k_recipe_head_size)
            continue;
        const base::Sha256 sum =
            base::sha256(as_bytes(record.substr(k_version_at, format::k_recipe_head_size - k_version_at + size)));
        std::memcpy(bytes.data() + at + k_checksum_at, sum.data(), k_version_at - k_checksum_at);
    }
}

void check_recipes(const std::string& bytes)
{
    const Result<format::DecodedRecipes> decoded = format::decode_recipes(as_bytes(bytes), "input");
    if (!decoded.ok()) {
        fuzz::require(decoded.error().message.find("input") != std::string::npos, "an error names the file");
        return;
    }
    fuzz::require(decoded->damaged_bytes <= bytes.size() &&
                      (decoded->damaged_places == 0) == (decoded->damaged_bytes == 0),
                  "damage is within the file");
    std::string again;
    std::uint64_t records = 0;
    for (const auto& [digest, content] : decoded->contents) {
        if (const std::optional<Bytes> raw = format::unpack(content, digest))
            fuzz::require(raw->size() == content.raw_size, "a content is as long as it says");
        again += format::encode_content(digest, content);
        ++records;
    }
    for (const format::Recipe& recipe : decoded->recipes)
        again += format::encode_recipe(recipe);
    for (const format::RecipeUse& use : decoded->uses)
        again += format::encode_use(use);
    records += decoded->recipes.size() + decoded->uses.size();
    const Result<format::DecodedRecipes> same = format::decode_recipes(as_bytes(again), "again");
    fuzz::require(same.ok() && same->records == records && same->damaged_places == 0,
                  "what was read is written as whole records");
    fuzz::require(same->recipes == decoded->recipes && same->uses == decoded->uses &&
                      same->contents.size() == decoded->contents.size(),
                  "and comes back the same");
}

void try_recipe(std::string_view input)
{
    std::string bytes(input);
    check_recipes(bytes);
    // Sums stop nearly every mutation at the door. With sums made right it is the bounds that are tried.
    reseal_recipes(bytes);
    check_recipes(bytes);
}

// The fields written again by the grammar in format/request.hpp.
std::string encode_request(const std::vector<Field>& fields)
{
    base::WireWriter out;
    out.raw(format::k_request_magic);
    for (const Field& field : fields) {
        out.number(static_cast<std::uint8_t>(field.kind));
        out.number(static_cast<std::uint8_t>(field.digested));
        out.prefixed<std::uint16_t>(field.name);
        out.number(field.size);
        out.raw(field.value);
        for (const std::string& item : field.items)
            out.prefixed<std::uint64_t>(item);
    }
    return std::move(out.out());
}

void try_request(std::string_view text)
{
    const auto fields = format::decode_request(as_bytes(text));
    if (!fields)
        return;
    fuzz::require(encode_request(*fields) == text, "a request has one encoding");
    for (const Field& field : *fields)
        fuzz::require(field.display().size() <= 2 * text.size() + 128, "what is shown is no longer than what was read");
}

// The sum a note ends with, as engine/stats_note.cpp has it.
std::uint64_t sum_of_note(std::string_view text)
{
    std::uint64_t hash = 1469598103934665603U;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return hash;
}

bool same_latency(const Latency& a, const Latency& b)
{
    return a.buckets == b.buckets && a.samples == b.samples && a.total_ns == b.total_ns;
}

// A tier of which nothing is counted is not written down, so only what is counted in `a` is looked for in `b`.
bool same_counts(const Stats& a, const Stats& b)
{
    static const TierStats k_nothing;
    for (const TierStats& tier : a.tiers) {
        const auto there = std::ranges::find(b.tiers, tier.name, &TierStats::name);
        const TierStats& other = there != b.tiers.end() ? *there : k_nothing;
        if (tier.hits != other.hits || tier.stores != other.stores || tier.evictions != other.evictions ||
            tier.demotions != other.demotions || tier.promotions != other.promotions || tier.corrupt != other.corrupt ||
            tier.outages != other.outages || !same_latency(tier.latency, other.latency))
            return false;
    }
    return a.hits == b.hits && a.misses == b.misses && a.outages == b.outages && a.stores == b.stores &&
           a.compiles == b.compiles && a.compile_failures == b.compile_failures &&
           a.compile_ns_spent == b.compile_ns_spent && a.compile_ns_saved == b.compile_ns_saved &&
           a.waited == b.waited && a.forbidden == b.forbidden;
}

void check_note(std::string_view note)
{
    const Stats stats = engine::decode_stats(as_bytes(note));
    for (const TierStats& tier : stats.tiers) {
        (void)tier.latency.percentile_us(0.99);
        (void)tier.latency.mean_us();
    }
    (void)stats.hit_rate();
    const Bytes again = engine::encode_stats(stats);
    fuzz::require(same_counts(stats, engine::decode_stats(again)), "counts that were read are written and read again");

    Stats doubled = stats;
    engine::add_counts(doubled, stats);
    fuzz::require(same_counts(engine::counts_since(doubled, stats), stats), "what is added can be taken away");
}

void try_stats_note(std::string_view input)
{
    const std::string text(input);
    check_note(text);
    // With the sum made right, the lines are tried.
    const std::string body = text.substr(0, std::min(text.size(), text.rfind("sum ")));
    check_note(body + "sum " + std::to_string(sum_of_note(body)) + "\n");
}

const fuzz::Added k_added{{"archive", 600'000, try_archive},
                          {"capture", 300'000, try_capture},
                          {"entry", 200'000, try_entry},
                          {"manifest", 2'000'000, try_manifest},
                          {"oci", 40'000, try_oci},
                          {"recipe", 600'000, try_recipe},
                          {"request", 1'000'000, try_request},
                          {"stats_note", 15'000, try_stats_note}};

}  // namespace
