#pragma once

#include "hearth/ledger.hpp"
#include "support/sample_entries.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace hearth::test {

// A program with buffers of its own in as many memories as its ledger has tiers. It knows what really lies where, and
// says so when the ledger asks for what cannot be done. Thread safety: all of it.
class Program {
public:
    // Asked before each move: the error to refuse it with, or none.
    using Refuse = std::function<std::optional<Error>(const ledger::Move&)>;

    explicit Program(std::vector<ledger::Tier> tiers)
        : m_memories(tiers.size()),
          m_ledger(Ledger::open({.tiers = std::move(tiers),
                                 .move = [this](const ledger::Move& move) { return carry_out(move); }})
                       .value())
    {
    }

    Ledger& ledger() { return m_ledger; }
    void set_refuse(Refuse refuse) { m_refuse = std::move(refuse); }

    // Adds key `number`: the buffer is made when there is room for it, and what it replaces is freed.
    Result<ledger::Added> add(std::uint64_t number, std::uint64_t bytes, std::size_t tier = 0, double cost = 0)
    {
        const Key key = numbered_key(number);
        Result<ledger::Added> added =
            m_ledger.add(key, {.bytes = bytes, .cost = cost, .tier = tier},
                         [&]() -> Result<ledger::Handle> { return allocate(tier, key, bytes); });
        if (added && added->replaced)
            free(*added->replaced);
        return added;
    }
    // Keys `first` to `last`, for which there is room.
    void add_all(std::uint64_t first, std::uint64_t last, std::uint64_t bytes)
    {
        for (std::uint64_t number = first; number <= last; ++number)
            ASSERT_TRUE(add(number, bytes).ok()) << number;
    }
    bool remove(std::uint64_t number)
    {
        const Result<ledger::Holding> removed = m_ledger.remove(numbered_key(number));
        if (removed)
            free(*removed);
        return removed.ok();
    }
    // Whether these really are the buffer's place and size.
    bool owns(const Key& key, ledger::Handle handle, std::uint64_t bytes, std::size_t tier)
    {
        const std::lock_guard lock(m_mutex);
        const auto found = m_memories[tier].find(handle);
        return found != m_memories[tier].end() && found->second.key == key && found->second.bytes == bytes;
    }
    bool owns(const Key& key, const ledger::Lease& lease)
    {
        return owns(key, lease.handle(), lease.bytes(), lease.tier());
    }
    // The tier of key `number`; -1: it is nowhere.
    int tier_of(std::uint64_t number)
    {
        const std::optional<ledger::Holding> found = m_ledger.find(numbered_key(number));
        return found ? static_cast<int>(found->tier) : -1;
    }
    // Each move so far, as in "3:0>1"; "3:1>" is an eviction.
    std::vector<std::string> take_moves()
    {
        const std::lock_guard lock(m_mutex);
        return std::exchange(m_moves, {});
    }

    // With nothing in motion: counts, listing, limits and memories agree.
    void expect_exact()
    {
        const std::lock_guard lock(m_mutex);
        std::vector<TierUsage> listed(m_memories.size());
        m_ledger.for_each([&](const ledger::Holding& holding) {
            listed[holding.tier].bytes += holding.bytes;
            ++listed[holding.tier].entries;
            EXPECT_FALSE(holding.moving);
            const auto found = m_memories[holding.tier].find(holding.handle);
            EXPECT_TRUE(found != m_memories[holding.tier].end() && found->second.key == holding.key &&
                        found->second.bytes == holding.bytes);
            return true;
        });
        const std::vector<TierUsage> usage = m_ledger.usage();
        for (std::size_t tier = 0; tier < m_memories.size(); ++tier) {
            EXPECT_EQ(usage[tier].bytes, listed[tier].bytes);
            EXPECT_EQ(usage[tier].entries, listed[tier].entries);
            EXPECT_EQ(usage[tier].entries, m_memories[tier].size()) << "a buffer that nobody will free";
        }
    }
    void expect_within_limits()
    {
        const std::vector<TierUsage> usage = m_ledger.usage();
        for (std::size_t tier = 0; tier < usage.size(); ++tier) {
            const Limits limits = m_ledger.limits(tier);
            EXPECT_TRUE(limits.max_bytes == 0 || usage[tier].bytes <= limits.max_bytes);
            EXPECT_TRUE(limits.max_entries == 0 || usage[tier].entries <= limits.max_entries);
        }
    }

private:
    struct Allocation {
        Key key;
        std::uint64_t bytes = 0;
    };

    ledger::Handle allocate(std::size_t tier, const Key& key, std::uint64_t bytes)
    {
        const std::lock_guard lock(m_mutex);
        m_memories[tier][++m_last_handle] = {key, bytes};
        return m_last_handle;
    }
    void free(const ledger::Holding& holding)
    {
        const std::lock_guard lock(m_mutex);
        EXPECT_EQ(m_memories[holding.tier].erase(holding.handle), 1U);
    }
    Result<ledger::Handle> carry_out(const ledger::Move& move)
    {
        EXPECT_TRUE(owns(move.key, move.handle, move.bytes, move.from)) << "it is told to move what is not there";
        if (m_refuse)
            if (std::optional<Error> refusal = m_refuse(move))
                return *std::move(refusal);
        const ledger::Handle moved = move.to ? allocate(*move.to, move.key, move.bytes) : 0;
        const std::lock_guard lock(m_mutex);
        m_memories[move.from].erase(move.handle);
        m_moves.push_back(std::to_string(number_of(move.key)) + ":" + std::to_string(move.from) + ">" +
                          (move.to ? std::to_string(*move.to) : ""));
        return moved;
    }
    std::uint64_t number_of(const Key& key)
    {
        while (!m_numbers.contains(key)) {
            const std::uint64_t next = m_numbers.size();
            m_numbers[numbered_key(next)] = next;
        }
        return m_numbers[key];
    }

    std::mutex m_mutex;
    std::vector<std::map<ledger::Handle, Allocation>> m_memories;
    ledger::Handle m_last_handle = 0;
    std::vector<std::string> m_moves;
    std::map<Key, std::uint64_t> m_numbers;
    Refuse m_refuse;
    Ledger m_ledger;
};

}  // namespace hearth::test
