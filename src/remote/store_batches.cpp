// Functions for many entries at once, and for all of them.

#include "base/error.hpp"
#include "format/entry_row.hpp"
#include "remote/store_tier.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace hearth::remotes {

namespace {

constexpr std::size_t k_keys_at_once = 256;
// The names of a list are held until they have been dealt with. A server that goes on naming takes 512 MiB.
constexpr std::uint64_t k_most_listed = std::uint64_t{16} << 20;

}  // namespace

void StoreTier::clear()
{
    if (m_options.access == Access::read_only)
        return;
    flush();  // entries that arrive later would not be listed
    std::vector<Key> keys;
    static_cast<void>(for_each_key([&](const Key& key) {
        keys.push_back(key);
        return true;
    }));
    for (const Key& key : keys)
        remove(key);
}

std::optional<EntryRow> StoreTier::info(const Key& key)
{
    const Found found = peek(key);
    if (!found)
        return std::nullopt;
    EntryRow row = format::row_of(key, found);
    row.tier = m_options.name;
    return row;
}

void StoreTier::for_each(const std::function<bool(const EntryRow&)>& visit)
{
    std::vector<Key> keys;
    static_cast<void>(for_each_key([&](const Key& key) {
        keys.push_back(key);
        return true;
    }));
    for (const Key& key : keys)
        if (const std::optional<EntryRow> row = info(key); row && !visit(*row))
            return;
}

VerifyReport StoreTier::verify(Repair repair, const Progress& progress)
{
    VerifyReport report;
    std::vector<Key> keys;
    if (const Status listed = for_each_key([&](const Key& key) {
            keys.push_back(key);
            return true;
        });
        !listed.ok())
        report.problems.push_back(listed.error().message);
    for (std::size_t at = 0; at < keys.size(); at += k_keys_at_once) {
        const std::span<const Key> some = std::span(keys).subspan(at, std::min(k_keys_at_once, keys.size() - at));
        fetch_each(some, [&](std::size_t i, const Found& found) {
            ++report.checked;
            if (found || found.why == Miss::expired) {
                ++report.intact;
            } else if (found.why == Miss::other_version) {
                ++report.other_version;
            } else if (found.why == Miss::corrupt || found.why == Miss::untrusted) {
                ++report.corrupt;
                report.problems.push_back(
                    fmt::format("Entry {} at {} is {}.", some[i].hex(), m_url.shown(), hearth::to_string(found.why)));
                report.removed += repair == Repair::yes && remove(some[i]) ? 1 : 0;
            }
        });
        if (progress && !progress(report.checked, keys.size()))
            break;
    }
    return report;
}

std::vector<Result<bool>> StoreTier::has_many(std::span<const Key> keys)
{
    const Result<RemoteStore*> store = reached();
    if (!store)
        return std::vector<Result<bool>>(keys.size(), store.error());
    std::vector<std::string> names;
    names.reserve(keys.size());
    for (const Key& key : keys)
        names.push_back(key.hex());
    std::vector<Result<bool>> answers = (*store)->has_many(names, write_deadline());
    for (const Result<bool>& answer : answers)
        settle(answer.ok() ? nullptr : &answer.error());
    return answers;
}

std::vector<Found> StoreTier::fetch_many(std::span<const Key> keys)
{
    std::vector<Found> found(keys.size());
    fetch_each(keys, [&](std::size_t number, Found one) { found[number] = std::move(one); });
    return found;
}

void StoreTier::fetch_each(std::span<const Key> keys, const std::function<void(std::size_t number, Found found)>& take)
{
    const Result<RemoteStore*> store = reached();
    if (!store) {
        for (std::size_t i = 0; i < keys.size(); ++i)
            take(i, Found::miss(Miss::outage));
        return;
    }
    std::vector<std::string> names;
    names.reserve(keys.size());
    for (const Key& key : keys)
        names.push_back(key.hex());
    std::vector<Result<std::optional<Bytes>>> answers = (*store)->get_many(names, write_deadline());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const Result<std::optional<Bytes>> answer = std::exchange(answers[i], std::optional<Bytes>());
        take(i, accept(keys[i], settled(answer)));
    }
}

std::vector<Status> StoreTier::send_many(std::span<const KeyedEntry> entries)
{
    std::vector<Status> answers(entries.size());
    if (m_options.access == Access::read_only) {
        for (Status& answer : answers)
            answer = error(Code::unavailable, "Tier \"{}\" is read-only.", m_options.name);
        return answers;
    }
    const Result<RemoteStore*> store = reached();
    std::vector<Bytes> bytes;
    std::vector<Object> objects;
    std::vector<std::size_t> numbers;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        Result<Bytes> one = store ? to_send(entries[i].key, entries[i].entry) : Result<Bytes>(store.error());
        if (!one) {
            answers[i] = one.error();
            continue;
        }
        bytes.push_back(*std::move(one));
        objects.push_back({entries[i].key.hex(), bytes.back()});
        numbers.push_back(i);
    }
    if (objects.empty())
        return answers;
    const std::vector<Status> sent = (*store)->put_many(objects, write_deadline());
    for (std::size_t i = 0; i < sent.size(); ++i) {
        settle(sent[i].ok() ? nullptr : &sent[i].error());
        answers[numbers[i]] = sent[i];
        m_sent.fetch_add(sent[i].ok() ? 1 : 0, std::memory_order_relaxed);
        m_sent_bytes.fetch_add(sent[i].ok() ? bytes[i].size() : 0, std::memory_order_relaxed);
    }
    return answers;
}

Status StoreTier::for_each_key(const std::function<bool(const Key&)>& visit, const std::function<bool()>& goes_on)
{
    HEARTH_TRY_SET(RemoteStore* const store, reached());
    std::uint64_t count = 0;
    Status listed = store->list(
        [&](std::string_view name, std::uint64_t) {
            if (name.empty())
                return !goes_on || goes_on();
            const std::optional<Key> key = Key::parse(name);
            return !key || (++count <= k_most_listed && visit(*key));  // leases and objects of others are not listed
        },
        std::chrono::steady_clock::now() + std::chrono::minutes(10));
    settle(listed.ok() ? nullptr : &listed.error());
    if (listed.ok() && count > k_most_listed)
        return error(Code::too_large, "{} names more than {} entries, and no more are listed.", m_url.shown(),
                     k_most_listed);
    return listed;
}

}  // namespace hearth::remotes
