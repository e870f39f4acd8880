#pragma once

#include "hearth/admin.hpp"
#include "json/json.hpp"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace hearth::cli {

enum class EntryOrder : std::uint8_t { size, uses, cost, used, created };
inline constexpr std::array<std::string_view, 5> k_entry_orders{"size", "uses", "cost", "used", "created"};

// What the page shows of an entry. A hundred thousand of them are held, so words that many share are kept once.
struct IndexedEntry {
    Key key;
    std::string label;
    std::uint64_t bytes = 0;
    std::uint64_t stored_bytes = 0;
    WallTime created{};
    WallTime last_used{};
    std::chrono::nanoseconds cost{0};
    std::uint32_t uses = 0;
    std::int32_t status = 0;
    std::uint32_t compiler = 0;  // of EntryIndex::word()
    std::uint32_t target = 0;
    std::uint32_t tier = 0;
};

// The entries of a cache as they were at one moment, in every order that the page offers. It never changes.
// Cost: some 150 bytes an entry; a page of any order is copied from its place, a search reads every name.
class EntryIndex {
public:
    // Ends early, with what it has, when a stop is asked for.
    explicit EntryIndex(Cache& cache, const std::stop_token& stop = {});

    struct Part {
        std::uint64_t matching = 0;
        std::vector<const IndexedEntry*> entries;
    };
    // Those whose name, compiler or target holds `search`, in any case of letters, or whose key begins with it.
    Part find(EntryOrder order, std::string_view search, std::size_t from, std::size_t count) const;
    // Null if it is not there.
    const IndexedEntry* find(const Key& key) const;
    // Entries that may have been nearest before this one was there: of the same name, else of the same compiler; the
    // latest first.
    std::vector<const IndexedEntry*> earlier_like(const IndexedEntry& entry, std::size_t most) const;

    std::size_t size() const { return m_entries.size(); }
    const std::string& word(std::uint32_t number) const { return m_words[number]; }
    Json as_json(const IndexedEntry& entry) const;
    // By tier: when the entry that nobody used for longest was used. It tells whether the tier is large enough.
    Json longest_unused() const;

private:
    bool matches(const IndexedEntry& entry, std::string_view search) const;

    std::vector<IndexedEntry> m_entries;  // by key
    std::vector<std::string> m_words;
    std::vector<std::pair<std::string, WallTime>> m_longest_unused;
    std::array<std::vector<std::uint32_t>, k_entry_orders.size()> m_orders;
};

// Keeps an index of a cache that others change. A thread of its own makes a new one when somebody asks and the last is
// old, so that nobody waits for a listing. Thread safety: all of it.
class IndexKeeper {
public:
    explicit IndexKeeper(Cache& cache);
    ~IndexKeeper();
    IndexKeeper(const IndexKeeper&) = delete;
    IndexKeeper& operator=(const IndexKeeper&) = delete;

    // The latest; null while the first is being made.
    std::shared_ptr<const EntryIndex> latest();
    // The cache was changed by us: the next index is made at once.
    void make_again();

private:
    void keep();

    Cache& m_cache;
    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::shared_ptr<const EntryIndex> m_index;
    std::chrono::steady_clock::time_point m_good_until{};
    bool m_wanted = true;
    std::stop_source m_stop;
    std::thread m_thread;
};

}  // namespace hearth::cli
