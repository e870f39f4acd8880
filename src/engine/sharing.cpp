// Entries carried to servers and fetched from them by hand, many at once; and how such a server is.

#include "engine/engine.hpp"
#include "engine/problems.hpp"
#include "format/entry_row.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::engine {

namespace {

constexpr std::size_t k_at_once = 128;
constexpr std::uint64_t k_bytes_at_once = 16_MiB;

Error stopped(const char* what)
{
    return {Code::timeout, fmt::format("{} was stopped; what had gone by then is there.", what), {}};
}

}  // namespace

Result<RemoteTier*> Engine::remote_named(std::string_view name) const
{
    std::string names;
    for (std::size_t i = 0; i < m_tiers.size(); ++i) {
        RemoteTier* const remote = m_remotes[i];
        if (remote && (name.empty() || m_names[i] == name))
            return remote;
        if (remote)
            names += (names.empty() ? "" : ", ") + m_names[i];
    }
    return Error{Code::not_found,
                 names.empty() ? std::string("No remote is configured. Set HEARTH_REMOTE, as in "
                                             "HEARTH_REMOTE=redis://cache:6379.")
                               : fmt::format("There is no remote \"{}\". There is: {}.", name, names),
                 {}};
}

Result<remote::Check> Engine::check_remote(std::string_view tier, std::uint64_t samples)
{
    const Result<RemoteTier*> remote = remote_named(tier);
    if (!remote)
        return remote.error();
    return (*remote)->check(samples);
}

bool Engine::is_on_this_machine(const Key& key)
{
    return std::any_of(m_tiers.begin(), m_tiers.end(), [&](const std::unique_ptr<Tier>& tier) {
        return tier->traits().persistent && !tier->traits().remote && tier->contains(key);
    });
}

Result<TransferReport> Engine::push(std::string_view tier, const std::function<bool(const EntryRow&)>& choose,
                                    const Progress& progress)
{
    const Result<RemoteTier*> remote = remote_named(tier);
    if (!remote)
        return remote.error();
    std::vector<EntryRow> rows;
    list([&](const EntryRow& row) {
        if (row.metadata.compiler != k_of_this_machine && (!choose || choose(row)))
            rows.push_back(row);
        return true;
    });
    TransferReport report;
    std::uint64_t done = 0;
    for (std::size_t at = 0; at < rows.size();) {
        std::vector<Key> keys;
        for (std::size_t i = at; i < std::min(at + k_at_once, rows.size()); ++i)
            keys.push_back(rows[i].key);
        const std::vector<Result<bool>> there = (*remote)->has_many(keys);
        if (!there.front())
            return there.front().error();
        std::vector<KeyedEntry> entries;
        std::vector<std::uint64_t> sizes;
        std::uint64_t bytes = 0;
        const auto send = [&]() -> std::optional<Error> {
            const std::vector<Status> sent = (*remote)->send_many(entries);
            for (std::size_t i = 0; i < sent.size(); ++i) {
                if (sent[i].ok()) {
                    ++report.entries;
                    report.bytes += sizes[i];
                    continue;
                }
                // One that is too large leaves the rest alone; a server that is gone takes them all.
                if (sent[i].error().code != Code::too_large)
                    return sent[i].error();
                ++report.rejected;
                tell(report.problems, sent[i].error().message);
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
            const Found found = m_tiers[tier_named(rows[at + i].tier)]->peek(keys[i]);
            if (!found) {
                ++report.rejected;
                tell(report.problems,
                     fmt::format("Entry {} could not be read ({}); left out.", keys[i].hex(), to_string(found.why)));
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

Result<TransferReport> Engine::pull(std::string_view tier, const std::function<bool(const EntryRow&)>& choose,
                                    const Progress& progress)
{
    const Result<RemoteTier*> remote = remote_named(tier);
    if (!remote)
        return remote.error();
    std::vector<Key> keys;
    if (Status listed = (*remote)->for_each_key([&](const Key& key) {
            keys.push_back(key);
            return true;
        });
        !listed.ok())
        return listed.error();
    TransferReport report;
    const std::uint64_t all = keys.size();
    std::erase_if(keys, [&](const Key& key) { return is_on_this_machine(key); });
    report.already_there = all - keys.size();
    for (std::size_t at = 0; at < keys.size(); at += k_at_once) {
        if (progress && !progress(at, keys.size()))
            return stopped("The pull");
        const std::span<const Key> some = std::span(keys).subspan(at, std::min(k_at_once, keys.size() - at));
        const std::vector<Found> found = (*remote)->fetch_many(some);
        for (std::size_t i = 0; i < some.size(); ++i) {
            if (!found[i]) {
                if (found[i].why == Miss::outage || found[i].why == Miss::timeout)
                    return Error{Code::unavailable, (*remote)->report().problem, {}};
                if (found[i].why == Miss::absent || found[i].why == Miss::expired)
                    continue;  // gone since it was listed
                ++report.rejected;
                tell(report.problems,
                     fmt::format("Entry {} is {}; it was not taken.", some[i].hex(), to_string(found[i].why)));
                continue;
            }
            if (choose && !choose(format::row_of(some[i], found[i])))
                continue;
            bool stored = false;
            for (std::size_t t = 0; t < m_tiers.size(); ++t) {
                const TierTraits traits = m_tiers[t]->traits();
                if (traits.persistent && traits.writable && !traits.remote)
                    stored |= store_in(t, some[i], found[i].as_entry()).ok();
            }
            if (!stored)
                return Error{Code::unavailable,
                             "There is no persistent tier on this machine that takes what was fetched. `hearth doctor` "
                             "says why.",
                             {}};
            ++report.entries;
            report.bytes += found[i].bytes;
        }
    }
    if (progress)
        progress(keys.size(), keys.size());
    return report;
}

}  // namespace hearth::engine
