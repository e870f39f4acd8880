#include "page/entry_index.hpp"

#include "cache/rows.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>

namespace hearth::cli {

namespace {

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool holds(std::string_view text, std::string_view lower_word)
{
    return std::search(text.begin(), text.end(), lower_word.begin(), lower_word.end(),
                       [](char a, char b) { return lower(a) == b; }) != text.end();
}

bool is_hex(std::string_view word)
{
    return word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool comes_before(const IndexedEntry& a, const IndexedEntry& b, EntryOrder order)
{
    switch (order) {
    case EntryOrder::size:
        return a.stored_bytes > b.stored_bytes;
    case EntryOrder::uses:
        return a.uses > b.uses;
    case EntryOrder::cost:
        return a.cost > b.cost;
    case EntryOrder::used:
        return a.last_used > b.last_used;
    case EntryOrder::created:
        break;
    }
    return a.created > b.created;
}

}  // namespace

EntryIndex::EntryIndex(Cache& cache, const std::stop_token& stop)
{
    std::unordered_map<std::string, std::uint32_t> numbers;
    const auto number_of = [&](const std::string& word) {
        const auto [at, is_new] = numbers.try_emplace(word, static_cast<std::uint32_t>(m_words.size()));
        if (is_new)
            m_words.push_back(word);
        return at->second;
    };
    admin::list(cache, [&](const EntryRow& row) {
        if (!is_internal(row))
            m_entries.push_back({row.key, row.metadata.label, row.bytes, row.stored_bytes, row.created, row.last_used,
                                 row.cost, row.uses, row.status, number_of(row.metadata.compiler),
                                 number_of(row.metadata.target), number_of(row.tier)});
        return !stop.stop_requested();
    });
    for (const TierStatus& tier : admin::tiers(cache))
        if (const std::optional<WallTime> unused = admin::longest_unused(cache, tier.name))
            m_longest_unused.emplace_back(tier.name, *unused);
    std::ranges::sort(m_entries, {}, &IndexedEntry::key);
    for (std::size_t order = 0; order < m_orders.size(); ++order) {
        std::vector<std::uint32_t>& places = m_orders[order];
        places.resize(m_entries.size());
        std::iota(places.begin(), places.end(), 0U);
        std::stable_sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
            return comes_before(m_entries[a], m_entries[b], static_cast<EntryOrder>(order));
        });
    }
}

bool EntryIndex::matches(const IndexedEntry& entry, std::string_view search) const
{
    return holds(entry.label, search) || holds(word(entry.compiler), search) || holds(word(entry.target), search) ||
           (is_hex(search) && entry.key.hex().starts_with(search));
}

EntryIndex::Part EntryIndex::find(EntryOrder order, std::string_view search, std::size_t from, std::size_t count) const
{
    const std::vector<std::uint32_t>& places = m_orders[static_cast<std::size_t>(order)];
    Part part;
    if (search.empty()) {
        part.matching = places.size();
        for (std::size_t i = from; i < std::min(places.size(), from + count); ++i)
            part.entries.push_back(&m_entries[places[i]]);
        return part;
    }
    std::string word(search);
    std::ranges::transform(word, word.begin(), lower);
    for (const std::uint32_t place : places)
        if (const IndexedEntry& entry = m_entries[place]; matches(entry, word)) {
            if (part.matching >= from && part.entries.size() < count)
                part.entries.push_back(&entry);
            ++part.matching;
        }
    return part;
}

const IndexedEntry* EntryIndex::find(const Key& key) const
{
    const auto at = std::ranges::lower_bound(m_entries, key, {}, &IndexedEntry::key);
    return at != m_entries.end() && at->key == key ? &*at : nullptr;
}

std::vector<const IndexedEntry*> EntryIndex::earlier_like(const IndexedEntry& entry, std::size_t most) const
{
    std::vector<const IndexedEntry*> same_name;
    std::vector<const IndexedEntry*> same_compiler;
    for (const std::uint32_t place : m_orders[static_cast<std::size_t>(EntryOrder::created)]) {
        const IndexedEntry& other = m_entries[place];
        if (other.created > entry.created || other.key == entry.key)
            continue;
        if (!entry.label.empty() && other.label == entry.label && same_name.size() < most)
            same_name.push_back(&other);
        else if (other.compiler == entry.compiler && same_compiler.size() < most)
            same_compiler.push_back(&other);
    }
    same_name.insert(same_name.end(), same_compiler.begin(), same_compiler.end());
    if (same_name.size() > most)
        same_name.resize(most);
    return same_name;
}

Json EntryIndex::as_json(const IndexedEntry& entry) const
{
    return {{"key", entry.key.hex()},
            {"label", entry.label},
            {"compiler", word(entry.compiler)},
            {"target", word(entry.target)},
            {"tier", word(entry.tier)},
            {"bytes", entry.bytes},
            {"stored_bytes", entry.stored_bytes},
            {"created", time_as_json(entry.created)},
            {"last_used", time_as_json(entry.last_used)},
            {"uses", entry.uses},
            {"cost_seconds", std::chrono::duration<double>(entry.cost).count()},
            {"status", entry.status}};
}

Json EntryIndex::longest_unused() const
{
    Json all = Json::object();
    for (const auto& [tier, when] : m_longest_unused)
        all.add(tier, time_as_json(when));
    return all;
}

IndexKeeper::IndexKeeper(Cache& cache) : m_cache(cache), m_thread([this] { keep(); }) {}

IndexKeeper::~IndexKeeper()
{
    {
        const std::lock_guard lock(m_mutex);
        m_stop.request_stop();
    }
    m_changed.notify_all();
    m_thread.join();
}

std::shared_ptr<const EntryIndex> IndexKeeper::latest()
{
    const std::lock_guard lock(m_mutex);
    if (std::chrono::steady_clock::now() >= m_good_until && !m_wanted) {
        m_wanted = true;
        m_changed.notify_all();
    }
    return m_index;
}

void IndexKeeper::make_again()
{
    {
        const std::lock_guard lock(m_mutex);
        m_wanted = true;
    }
    m_changed.notify_all();
}

void IndexKeeper::keep()
{
    using Steady = std::chrono::steady_clock;
    for (std::unique_lock lock(m_mutex); !m_stop.stop_requested();) {
        m_changed.wait(lock, [&] { return m_wanted || m_stop.stop_requested(); });
        if (m_stop.stop_requested())
            return;
        m_wanted = false;
        lock.unlock();
        const Steady::time_point began = Steady::now();
        auto made = std::make_shared<const EntryIndex>(m_cache, m_stop.get_token());
        const Steady::duration took = Steady::now() - began;
        lock.lock();
        m_index = std::move(made);
        // A listing of a large cache takes seconds: at most a tenth of the time goes into it.
        m_good_until = Steady::now() + std::max<Steady::duration>(std::chrono::seconds(5), 10 * took);
    }
}

}  // namespace hearth::cli
