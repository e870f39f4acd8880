// Sends entries to servers and fetches them, by hand and many at once; and checks servers.

#include "base/error.hpp"
#include "base/problems.hpp"
#include "engine/parts.hpp"
#include "format/acceptance.hpp"
#include "format/entry_row.hpp"
#include "hearth/admin.hpp"

#include <algorithm>
#include <span>

namespace hearth {

namespace {

constexpr std::size_t k_at_once = 128;
constexpr std::uint64_t k_bytes_at_once = 16_MiB;

Error stopped(const char* what)
{
    return error(Code::timeout, "{} was stopped; what had gone by then is there.", what);
}

Result<RemoteTier*> remote_named(const engine::Tiers& tiers, std::string_view name)
{
    std::string names;
    for (const engine::Place& place : tiers) {
        if (place.remote && (name.empty() || place.name == name))
            return place.remote;
        if (place.remote)
            names += (names.empty() ? "" : ", ") + place.name;
    }
    if (names.empty())
        return error(Code::not_found,
                     "No remote is configured. Set HEARTH_REMOTE, as in HEARTH_REMOTE=redis://cache:6379.");
    return error(Code::not_found, "There is no remote \"{}\". There is: {}.", name, names);
}

bool is_on_this_machine(const engine::Tiers& tiers, const Key& key)
{
    return std::any_of(tiers.begin(), tiers.end(),
                       [&](const engine::Place& place) { return place.keeps_here && place->contains(key); });
}

// From the first tier, or from one behind it that has the entry's bytes, and so its signature.
Found with_signature(const engine::Tiers& tiers, std::size_t first, const Key& key)
{
    Found found = tiers[first]->peek(key);
    for (std::size_t i = first + 1; i < tiers.size() && !(found && found.encoded); ++i)
        if (tiers[i].keeps_here)
            if (Found other = tiers[i]->peek(key))
                found = std::move(other);
    return found;
}

// Stores in every persistent tier of this machine. An Error: none took it. (What was written here meanwhile stays.)
Status keep_here(engine::Stack& stack, const Key& key, const Entry& entry, engine::Writes::Ticket read)
{
    bool stored = false;
    Error refused = error(Code::unavailable, "There is no persistent tier on this machine that takes what was fetched. "
                                             "`hearth doctor` says why.");
    for (std::size_t i = 0; i < stack.tiers().size(); ++i)
        if (stack.tiers()[i].keeps_here && stack.tiers()[i].traits.writable) {
            const Result<StoreReport> put = stack.copy_in(i, key, entry, read);
            stored |= put.ok();
            if (!put && put.error().code == Code::denied)
                refused = put.error();
        }
    if (stored || !engine::Writes::Copy(stack.writes(), key, read))
        return {};
    return refused;
}

// One that was fetched, if it is chosen. An Error: there is no use in going on.
Status take_fetched(engine::Stack& stack, RemoteTier& remote, const Key& key, const Found& found, const Choose& choose,
                    engine::Writes::Ticket read, TransferReport& report)
{
    if (!found) {
        if (found.why == Miss::outage || found.why == Miss::timeout)
            return error(Code::unavailable, "{}", remote.report().problem);
        if (found.why == Miss::absent || found.why == Miss::expired)
            return {};  // gone since it was listed
        ++report.rejected;
        base::tell(report.problems, fmt::format("Entry {} is {}; it was not taken.", key.hex(), to_string(found.why)));
        return {};
    }
    if (choose && !choose(format::row_of(key, found)))
        return {};
    const Status kept = keep_here(stack, key, found.as_entry(), read);
    if (!kept && kept.error().code != Code::denied)
        return kept.error();
    if (!kept) {
        ++report.rejected;
        base::tell(report.problems, kept.error().message);
        return {};
    }
    ++report.entries;
    report.bytes += found.bytes;
    return {};
}

// Into the persistent tiers here: what is not on this machine yet and is chosen.
Result<TransferReport> fetch_missing(Cache& cache, RemoteTier& remote, std::vector<Key> keys, const Choose& choose,
                                     const Progress& progress)
{
    TransferReport report;
    const std::uint64_t all = keys.size();
    std::erase_if(keys, [&](const Key& key) { return is_on_this_machine(cache.parts().tiers, key); });
    report.already_there = all - keys.size();
    for (std::size_t at = 0; at < keys.size(); at += k_at_once) {
        if (progress && !progress(at, keys.size()))
            return stopped("The pull");
        const std::span<const Key> some = std::span(keys).subspan(at, std::min(k_at_once, keys.size() - at));
        const engine::Writes::Ticket read = cache.parts().stack.writes().now();
        Status status;
        remote.fetch_each(some, [&](std::size_t i, const Found& found) {
            if (status.ok())
                status = take_fetched(cache.parts().stack, remote, some[i], found, choose, read, report);
        });
        HEARTH_TRY(status);
    }
    if (progress)
        progress(keys.size(), keys.size());
    return report;
}

}  // namespace

Result<remotes::Check> admin::check_remote(Cache& cache, std::string_view tier, std::uint64_t samples)
{
    HEARTH_TRY_SET(RemoteTier* const remote, remote_named(cache.parts().tiers, tier));
    return remote->check(samples);
}

Result<TransferReport> admin::push(Cache& cache, std::string_view tier, const Choose& choose, const Progress& progress)
{
    HEARTH_TRY_SET(RemoteTier* const remote, remote_named(cache.parts().tiers, tier));
    std::vector<EntryRow> rows;
    cache.parts().stack.list([&](const EntryRow& row) {
        if (format::may_travel(row) && (!choose || choose(row)))
            rows.push_back(row);
        return true;
    });
    TransferReport report;
    std::uint64_t done = 0;
    for (std::size_t at = 0; at < rows.size();) {
        std::vector<Key> keys;
        for (std::size_t i = at; i < std::min(at + k_at_once, rows.size()); ++i)
            keys.push_back(rows[i].key);
        const std::vector<Result<bool>> there = remote->has_many(keys);
        HEARTH_TRY(there.front());
        std::vector<KeyedEntry> entries;
        std::vector<std::uint64_t> sizes;
        std::uint64_t bytes = 0;
        const auto send = [&]() -> std::optional<Error> {
            const std::vector<Status> sent = remote->send_many(entries);
            for (std::size_t i = 0; i < sent.size(); ++i) {
                if (sent[i].ok()) {
                    ++report.entries;
                    report.bytes += sizes[i];
                    continue;
                }
                // An entry that is too large does not affect the others; a server that is gone fails them all.
                if (sent[i].error().code != Code::too_large)
                    return sent[i].error();
                ++report.rejected;
                base::tell(report.problems, sent[i].error().message);
            }
            entries.clear();
            sizes.clear();
            bytes = 0;
            return std::nullopt;
        };
        for (std::size_t i = 0; i < keys.size(); ++i, ++done) {
            if (progress && !progress(done, rows.size()))
                return stopped("The push");
            if (there[i].ok() && *there[i]) {
                ++report.already_there;
                continue;
            }
            const Found found =
                with_signature(cache.parts().tiers, cache.parts().tiers.named(rows[at + i].tier), keys[i]);
            if (!found) {
                ++report.rejected;
                base::tell(report.problems, fmt::format("Entry {} could not be read ({}); left out.", keys[i].hex(),
                                                        to_string(found.why)));
                continue;
            }
            entries.push_back({keys[i], found.as_entry()});
            sizes.push_back(found.bytes);
            bytes += found.bytes;
            if (bytes >= k_bytes_at_once)
                if (std::optional<Error> failed = send())
                    return *failed;
        }
        if (std::optional<Error> failed = send())
            return *failed;
        at += keys.size();
    }
    if (progress)
        progress(done, rows.size());
    return report;
}

Result<TransferReport> admin::pull(Cache& cache, std::string_view tier, const Choose& choose, const Progress& progress)
{
    HEARTH_TRY_SET(RemoteTier* const remote, remote_named(cache.parts().tiers, tier));
    std::vector<Key> keys;
    bool goes_on = true;
    HEARTH_TRY(remote->for_each_key(
        [&](const Key& key) {
            keys.push_back(key);
            return true;
        },
        [&] { return goes_on = !progress || progress(0, keys.size()); }));
    if (!goes_on)
        return stopped("The pull");
    return fetch_missing(cache, *remote, std::move(keys), choose, progress);
}

Result<TransferReport> admin::fetch(Cache& cache, std::string_view tier, const std::vector<Key>& keys,
                                    const Progress& progress)
{
    HEARTH_TRY_SET(RemoteTier* const remote, remote_named(cache.parts().tiers, tier));
    return fetch_missing(cache, *remote, keys, {}, progress);
}

}  // namespace hearth
