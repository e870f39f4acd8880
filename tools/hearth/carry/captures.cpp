#include "carry/captures.hpp"

#include "base/error.hpp"
#include "cache/open_cache.hpp"
#include "carry/identity.hpp"
#include "hearth/units.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"

#include <algorithm>
#include <unordered_set>

namespace hearth::cli::carry {

namespace {

// What is fetched from a server at once, in bytes.
constexpr std::uint64_t k_fetched_at_once = 16_MiB;
constexpr int k_most_asks = 10;

// What is evicted first is what was cheap to get for its size. What a content took to compile is not known: it counts
// for less than kernels usually do, since the tool's own directory still has it.
constexpr std::chrono::nanoseconds cost_of(std::uint64_t bytes)
{
    return std::chrono::milliseconds(1) + std::chrono::nanoseconds(100 * bytes);
}

Key reference_to(const Wanted& wanted, Keeper keeper)
{
    KeyBuilder builder("carry-reference");
    builder.number("keeper", static_cast<std::uint64_t>(keeper)).text("name", wanted.place.name);
    builder.text("directory", wanted.place.directory);
    for (const Fact& fact : wanted.identity)
        builder.text(fact.what, fact.value);
    return builder.key();
}

Key reference_to_last(const Wanted& wanted, Keeper keeper)
{
    return Key::of("carry-last", static_cast<std::uint64_t>(keeper), wanted.place.name);
}

Artifact artifact_of(const Wanted& wanted, std::string_view kind, Bytes bytes)
{
    Artifact artifact;
    artifact.cost = cost_of(bytes.size());
    artifact.sections.push_back({"", std::move(bytes)});
    artifact.metadata.label = fmt::format("carry {} ({})", wanted.place.name, kind);
    artifact.metadata.compiler = "carry";
    for (const Fact& fact : wanted.identity)
        if (fact.what == "target")
            artifact.metadata.target = fact.value;
    return artifact;
}

// On the disk, and nowhere else.
Status keep(Cache& cache, const Key& key, Artifact artifact)
{
    HEARTH_TRY(cache.insert(key, std::move(artifact), {.tier = disk_of(cache).name, .kind = EntryKind::manifest}));
    return {};
}

// A reference is as old as what it names is here: it is written only when that changes.
Status set_references(Cache& cache, const Wanted& wanted, const Key& capture)
{
    for (const Key& reference :
         {reference_to(wanted, Keeper::this_machine), reference_to_last(wanted, Keeper::this_machine)})
        if (const Lookup known = cache.peek(reference, EntryKind::derived); !known || known->text() != capture.hex())
            HEARTH_TRY(keep(cache, reference, artifact_of(wanted, "reference", Bytes::copy_of(capture.hex()))));
    return {};
}

Result<Located> read_capture(Cache& cache, const Key& key, const Wanted& wanted, const Bounds& bounds)
{
    const Lookup found = cache.peek(key, EntryKind::derived);
    if (!found)
        return error(Code::not_found, "The capture {} is named, but it is not there ({}).", key.hex(),
                     to_string(found.why()));
    cache.touch(key);
    HEARTH_TRY_SET(Capture capture, decode(found->bytes()));
    if (Key::of("carry-capture", found->text()) != key)
        return error(Code::corrupt, "The capture {} is not what its key says.", key.hex());
    HEARTH_TRY(check(capture, bounds));
    const bool is_trusted = found->origin == Origin::trusted;
    for (Item& item : capture.items)
        if (!is_trusted)
            item.mode &= 0755;  // a stranger's capture opens nothing to his writing
    std::vector<std::string> foreign = differences(capture, wanted.place, wanted.identity);
    return Located{key, std::move(capture), std::move(foreign), is_trusted};
}

// On this machine; servers are not asked. It counts as a use, so that the parts of a capture stay together. Where
// signatures are demanded an entry without one is as good as none.
bool is_here(Cache& cache, const Key& key)
{
    return cache.touch(key) && (!disk_of(cache).traits.demands_signatures || cache.peek(key, EntryKind::derived));
}

// A capture must leave room for others, or storing one part would evict another.
Status check_room(Cache& cache, std::uint64_t bytes)
{
    const TierStatus disk = disk_of(cache);
    if (disk.limits.max_bytes == 0 || bytes <= disk.limits.max_bytes / 2)
        return {};
    return error(Code::no_space,
                 "The files take {}, more than half of the {} that the cache may take. Raise HEARTH_MAX_BYTES, or use "
                 "a cache of their own with --dir.",
                 format_size(bytes), format_size(disk.limits.max_bytes));
}

bool signs(Cache& cache)
{
    const std::vector<TierStatus> tiers = admin::tiers(cache);
    return std::any_of(tiers.begin(), tiers.end(), [](const TierStatus& tier) { return tier.traits.signs; });
}

Choose among(std::vector<Key> keys)
{
    return [set = std::unordered_set<Key>(keys.begin(), keys.end())](const EntryRow& row) {
        return set.contains(row.key);
    };
}

// The server's reference as it is now. What an earlier pull brought is forgotten first; and another process that asks
// at the same time forgets what came just now, so then it is asked for again.
Result<std::optional<Key>> ask_server(Cache& cache, const std::string& remote, const Key& reference)
{
    for (int attempt = 0; attempt < k_most_asks; ++attempt) {
        cache.remove(reference, Reach::this_machine);
        HEARTH_TRY_SET(const TransferReport report, admin::fetch(cache, remote, {reference}));
        if (report.rejected != 0)
            return error(Code::denied, "The note on the server that names the capture was not taken. {}",
                         report.problems.front());
        if (const Lookup found = is_here(cache, reference) ? cache.peek(reference, EntryKind::derived) : Lookup())
            return Key::parse(found->text());
        if (report.entries + report.already_there == 0)
            break;
    }
    return std::optional<Key>();
}

Status send_reference(Cache& cache, const std::string& remote, const Wanted& wanted, const Key& reference,
                      const Key& capture)
{
    HEARTH_TRY(cache.insert(reference, artifact_of(wanted, "reference", Bytes::copy_of(capture.hex())),
                            {.tier = remote, .kind = EntryKind::manifest}));
    cache.flush();
    HEARTH_TRY_SET(const std::optional<Key> arrived, ask_server(cache, remote, reference));
    if (arrived != capture)
        return error(Code::unavailable,
                     "The server \"{}\" has taken the files but not the note that names them. Push again.", remote);
    return {};
}

// Than what the server has, whose reference was just asked for.
bool is_newer_here(Cache& cache, const Wanted& wanted)
{
    const Lookup ours = cache.peek(reference_to(wanted, Keeper::this_machine), EntryKind::derived);
    const Lookup theirs = cache.peek(reference_to(wanted, Keeper::server), EntryKind::derived);
    return ours && theirs && ours->text() != theirs->text() && ours->created > theirs->created;
}

std::string name_of_remote(Cache& cache, const std::string& given)
{
    for (const TierStatus& tier : admin::tiers(cache))
        if (tier.traits.remote && (given.empty() || tier.name == given))
            return tier.name;
    return given;
}

void add_to(TransferReport& all, const TransferReport& one)
{
    all.entries += one.entries;
    all.bytes += one.bytes;
    all.already_there += one.already_there;
    all.rejected += one.rejected;
    all.problems.insert(all.problems.end(), one.problems.begin(), one.problems.end());
}

// A few at a time: what is fetched at once is held in memory.
Status fetch_packs(Cache& cache, const std::string& remote, const std::vector<Pack>& packs, TransferReport& report,
                   const Progress& progress)
{
    for (std::size_t done = 0; done < packs.size();) {
        if (progress && !progress(done, packs.size()))
            return error(Code::timeout, "{}", "The pull was stopped; what had come by then is here.");
        std::vector<Key> some;
        std::uint64_t bytes = 0;
        for (; done < packs.size() && (some.empty() || bytes + packs[done].size <= k_fetched_at_once); ++done) {
            some.push_back(packs[done].key);
            bytes += packs[done].size;
        }
        HEARTH_TRY_SET(const TransferReport fetched, admin::fetch(cache, remote, some));
        add_to(report, fetched);
    }
    return {};
}

}  // namespace

Result<Stored> store_capture(Cache& cache, const Wanted& wanted, const Bounds& bounds, Tree& tree,
                             const Progress& progress)
{
    Stored stored;
    std::uint64_t bytes = 0;
    Packer packer([&](const Pack& pack, Bytes content) -> Status {
        bytes += pack.size;
        HEARTH_TRY(check_room(cache, bytes));
        if (is_here(cache, pack.key))
            return {};
        ++stored.new_packs;
        stored.new_bytes += pack.size;
        return keep(cache, pack.key, artifact_of(wanted, "contents", std::move(content)));
    });
    HEARTH_TRY_SET(const OpenPlace place, OpenPlace::open(wanted.place.directory, IfMissing::fail));
    HEARTH_TRY_SET(tree, read_tree(place, signs(cache) ? Marked::refuse : Marked::take, packer, bounds, progress));
    Capture capture{.name = wanted.place.name,
                    .directory = wanted.place.directory,
                    .identity = wanted.identity,
                    .packs = packer.packs,
                    .pieces = packer.pieces,
                    .items = tree.items};
    const std::string encoded = encode(capture);
    stored.key = Key::of("carry-capture", encoded);
    const Lookup before = cache.peek(reference_to(wanted, Keeper::this_machine), EntryKind::derived);
    stored.changed = !before || before->text() != stored.key.hex();
    if (const std::vector<Pack> missing = missing_packs(cache, capture); !missing.empty())
        return error(Code::no_space,
                     "{} of {} packs of contents were evicted before the capture was complete. Raise HEARTH_MAX_BYTES "
                     "or HEARTH_MAX_ENTRIES, or use a cache of their own with --dir.",
                     missing.size(), capture.packs.size());
    HEARTH_TRY(keep(cache, stored.key, artifact_of(wanted, "capture", Bytes::copy_of(encoded))));
    HEARTH_TRY(set_references(cache, wanted, stored.key));
    cache.flush();
    return stored;
}

Result<std::optional<Located>> locate(Cache& cache, const Wanted& wanted, Keeper keeper, const Bounds& bounds)
{
    for (const Key& reference : {reference_to(wanted, keeper), reference_to_last(wanted, keeper)}) {
        const Lookup found = cache.peek(reference, EntryKind::derived);
        if (!found && found.why() != Miss::absent)
            return error(Code::unavailable, "The note that names the capture of {} cannot be read ({}).",
                         in_quotes(wanted.place.name), to_string(found.why()));
        const std::optional<Key> key = found ? Key::parse(found->text()) : std::nullopt;
        if (!key)
            continue;
        HEARTH_TRY_SET(Located located, read_capture(cache, *key, wanted, bounds));
        return std::optional(std::move(located));
    }
    return std::optional<Located>{};
}

std::vector<Pack> missing_packs(Cache& cache, const Capture& capture)
{
    std::vector<Pack> missing;
    std::copy_if(capture.packs.begin(), capture.packs.end(), std::back_inserter(missing),
                 [&](const Pack& pack) { return !is_here(cache, pack.key); });
    return missing;
}

std::string describe_missing(const Located& located, const std::vector<Pack>& missing)
{
    std::unordered_set<Key> keys;
    for (const Pack& pack : missing)
        keys.insert(pack.key);
    const Capture& capture = located.capture;
    const auto lacks = [&](const Item& item) {
        return std::any_of(item.pieces.begin(), item.pieces.end(), [&](std::uint32_t piece) {
            return keys.contains(capture.packs[capture.pieces[piece].pack].key);
        });
    };
    std::uint64_t files = 0;
    const Item* first = nullptr;
    for (const Item& item : capture.items)
        if (lacks(item)) {
            ++files;
            first = first != nullptr ? first : &item;
        }
    return fmt::format("The contents of {} of the capture's {} are gone from the cache, such as {}. Nothing was "
                       "written; capture it again, or pull it.",
                       files, count_of(capture.files(), "file", "files"),
                       in_quotes(first != nullptr ? first->path : ""));
}

Result<Bytes> read_pack(Cache& cache, const Pack& pack)
{
    const Lookup found = cache.peek(pack.key, EntryKind::derived);
    if (!found || found->sections.empty())
        return error(Code::not_found, "Contents {} are gone from the cache ({}). Capture again, or pull.",
                     pack.key.hex(), to_string(found.why()));
    const Bytes& bytes = found->sections.front().data;
    if (bytes.size() != pack.size || content_key(bytes) != pack.key)
        return error(Code::corrupt, "Contents {} are not what their key says. Capture again, or pull.", pack.key.hex());
    cache.touch(pack.key);
    return bytes;
}

std::vector<Key> keys_of(const Wanted& wanted, const Located& located)
{
    std::vector<Key> keys{located.key, reference_to(wanted, Keeper::this_machine),
                          reference_to_last(wanted, Keeper::this_machine)};
    for (const Pack& pack : located.capture.packs)
        keys.push_back(pack.key);
    return keys;
}

Result<TransferReport> push_capture(Cache& cache, const std::string& remote, const Wanted& wanted,
                                    const Located& located, const Progress& progress)
{
    std::vector<Key> keys{located.key};
    for (const Pack& pack : located.capture.packs)
        keys.push_back(pack.key);
    const std::size_t count = std::unordered_set<Key>(keys.begin(), keys.end()).size();
    HEARTH_TRY_SET(TransferReport report, admin::push(cache, remote, among(std::move(keys)), progress));
    if (report.entries + report.already_there != count)
        return error(Code::unavailable, "Only {} of {} entries arrived; the server's last capture stays.{}{}",
                     report.entries + report.already_there, count, report.problems.empty() ? "" : " ",
                     report.problems.empty() ? "" : report.problems.front());
    const std::string name = name_of_remote(cache, remote);
    for (const Key& reference : {reference_to(wanted, Keeper::server), reference_to_last(wanted, Keeper::server)})
        HEARTH_TRY(send_reference(cache, name, wanted, reference, located.key));
    return report;
}

Result<Pulled> pull_capture(Cache& cache, const std::string& remote, const Wanted& wanted, Adopt adopt,
                            const Bounds& bounds, const Progress& progress)
{
    const bool also_foreign = adopt == Adopt::also_foreign;
    Pulled pulled;
    HEARTH_TRY_SET(std::optional<Key> key, ask_server(cache, remote, reference_to(wanted, Keeper::server)));
    if (!key) {
        HEARTH_TRY_SET(key, ask_server(cache, remote, reference_to_last(wanted, Keeper::server)));
    }
    if (!key)
        return pulled;
    if (adopt == Adopt::newer && is_newer_here(cache, wanted)) {
        pulled.kept_ours = true;
        return pulled;
    }
    HEARTH_TRY_SET(const TransferReport first, admin::fetch(cache, remote, {*key}));
    add_to(pulled.report, first);
    if (first.rejected != 0)
        return error(Code::denied, "The capture on the server was not taken. {}", first.problems.front());
    HEARTH_TRY_SET(pulled.located, read_capture(cache, *key, wanted, bounds));
    if (!pulled.located->foreign.empty() && !also_foreign)
        return pulled;
    const std::vector<Pack>& packs = pulled.located->capture.packs;
    HEARTH_TRY(fetch_packs(cache, remote, packs, pulled.report, progress));
    if (const std::vector<Pack> missing = missing_packs(cache, pulled.located->capture); !missing.empty())
        return error(Code::not_found, "{} of {} packs of contents are not on the server.{}{} Push the capture again.",
                     missing.size(), packs.size(), pulled.report.problems.empty() ? "" : " ",
                     pulled.report.problems.empty() ? "" : pulled.report.problems.front());
    if (pulled.located->foreign.empty()) {
        HEARTH_TRY(set_references(cache, wanted, *key));
    } else {
        HEARTH_TRY(keep(cache, reference_to_last(wanted, Keeper::this_machine),
                        artifact_of(wanted, "reference", Bytes::copy_of(key->hex()))));
    }
    cache.flush();
    return pulled;
}

}  // namespace hearth::cli::carry
