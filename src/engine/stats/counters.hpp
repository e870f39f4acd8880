#pragma once

#include "base/fork.hpp"
#include "base/thread_index.hpp"
#include "hearth/cache.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

// Exact counts for which a hit touches no shared memory: every thread adds to a stripe of its own, and reading sums the
// stripes.

namespace hearth::engine {

inline constexpr std::size_t k_max_tiers = 8;

// Adds to a count. One that is not shared, which only one thread adds to, is spared a locked instruction.
inline void add_to(std::atomic<std::uint64_t>& count, std::uint64_t amount, bool is_shared)
{
    if (is_shared)
        count.fetch_add(amount, std::memory_order_relaxed);
    else
        count.store(count.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

// A latency histogram many threads add to, or one.
class LatencyCounter {
public:
    void add(std::uint64_t ns, bool is_shared = true)
    {
        add_to(m_buckets[Latency::bucket_of(ns)], 1, is_shared);
        add_to(m_total_ns, ns, is_shared);
    }
    void read_into(Latency& latency) const;

private:
    std::array<std::atomic<std::uint64_t>, Latency::k_buckets> m_buckets{};
    std::atomic<std::uint64_t> m_total_ns{0};
};

// Thread safety: all of it. Cost of add(): a load and a store in the calling thread's own cache line.
class Counters {
    static constexpr std::size_t k_first_count = k_miss_reasons;
    static constexpr std::size_t k_first_tier = k_first_count + k_counts.size();
    static constexpr std::size_t k_first_compiler = k_first_tier + k_max_tiers * k_tier_counts.size();
    static constexpr std::size_t k_values = k_first_compiler + k_compiler_kinds * k_compiler_counts.size();
    static constexpr std::size_t k_stripes = 256;

    // Two cache lines: processors fetch them in pairs, and what a neighbour's thread writes would be fetched from it.
    struct alignas(128) Stripe {
        std::array<std::atomic<std::uint64_t>, k_values> values{};
        bool shared = false;  // the last stripe serves every thread beyond the others
        // Of hits in the first tier. They come so often that threads which time a few of them would meet here.
        LatencyCounter first_tier;

        void add(std::size_t at, std::uint64_t amount) { add(at, amount, shared); }
        void add(std::size_t at, std::uint64_t amount, bool is_shared) { add_to(values[at], amount, is_shared); }
    };

    // The place of a count in its table, found at compile time.
    template <class Of, std::size_t k_rows>
    static constexpr std::size_t row(const std::array<CountName<Of>, k_rows>& table, std::uint64_t Of::*member)
    {
        std::size_t at = 0;
        while (table[at].member != member)
            ++at;
        return at;
    }
    template <std::uint64_t Stats::*k_member>
    static constexpr std::size_t k_place = k_first_count + row(k_counts, k_member);
    template <std::uint64_t TierStats::*k_member>
    static constexpr std::size_t place(std::size_t tier)
    {
        constexpr std::size_t k_row = row(k_tier_counts, k_member);
        return k_first_tier + tier * k_tier_counts.size() + k_row;
    }
    template <std::uint64_t CompilerStats::*k_member>
    static constexpr std::size_t place(CompilerKind compiler)
    {
        constexpr std::size_t k_row = row(k_compiler_counts, k_member);
        return k_first_compiler + static_cast<std::size_t>(compiler) * k_compiler_counts.size() + k_row;
    }

public:
    Counters() = default;
    ~Counters();
    Counters(const Counters&) = delete;
    Counters& operator=(const Counters&) = delete;

    template <std::uint64_t Stats::*k_member>
    void add(std::uint64_t amount = 1)
    {
        stripe().add(k_place<k_member>, amount);
    }
    template <std::uint64_t TierStats::*k_member>
    void add(std::size_t tier, std::uint64_t amount = 1)
    {
        stripe().add(place<k_member>(tier), amount);
    }
    // A compile: in the time that was `spent`, if it is not counted elsewhere.
    void compiled(CompilerKind compiler, std::uint64_t spent, Timed timed);
    void miss(Miss why, std::uint64_t amount = 1) { stripe().add(static_cast<std::size_t>(why), amount); }
    void took(std::size_t tier, std::uint64_t ns)
    {
        if (tier != 0)
            return m_latency[tier].add(ns);
        Stripe& mine = stripe();
        mine.first_tier.add(ns, mine.shared);
    }
    void miss_took(std::size_t tier, std::uint64_t ns) { m_miss_latency[tier].add(ns); }

    // The calling thread's own counts; get them once for a lookup.
    class Mine {
    public:
        // Whether the next hit in this tier is to be timed: every 128th hit of a thread is.
        bool time_next(std::size_t tier) const
        {
            return m_stripe.values[place<&TierStats::hits>(tier)].load(std::memory_order_relaxed) % 128 == 0;
        }
        void hit(std::size_t tier, std::chrono::nanoseconds saved, CompilerKind compiler)
        {
            const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(saved.count(), 0));
            const bool is_shared = m_stripe.shared;  // read once: what is added might be it, as far as a compiler knows
            m_stripe.add(place<&TierStats::hits>(tier), 1, is_shared);
            m_stripe.add(place<&CompilerStats::hits>(compiler), 1, is_shared);
            m_stripe.add(place<&CompilerStats::compile_ns_saved>(compiler), ns, is_shared);
        }

    private:
        friend class Counters;
        explicit Mine(Counters::Stripe& stripe) : m_stripe(stripe) {}
        Counters::Stripe& m_stripe;
    };
    Mine mine() { return Mine(stripe()); }

    template <std::uint64_t Stats::*k_member>
    std::uint64_t sum() const
    {
        return sum_at(k_place<k_member>);
    }
    // Everything that was counted, for tiers of these names.
    Stats sums(std::span<const std::string_view> tiers) const;

private:
    Stripe& stripe()
    {
        const std::size_t index = base::thread_index();
        if (index >= k_stripes - 1) {
            // acquire: pairs with the release in make_stripe().
            Stripe* shared = m_stripes[k_stripes - 1].load(std::memory_order_acquire);
            return shared ? *shared : make_stripe(k_stripes - 1);
        }
        // relaxed: it was created by this thread, or by one that had its number before and handed it on under a lock.
        Stripe* mine = m_stripes[index].load(std::memory_order_relaxed);
        return mine ? *mine : make_stripe(index);
    }
    Stripe& make_stripe(std::size_t index);
    std::uint64_t sum_at(std::size_t at) const;

    std::array<std::atomic<Stripe*>, k_stripes> m_stripes{};
    base::ForkSafeMutex m_mutex{base::LockLevel::counters};
    std::array<LatencyCounter, k_max_tiers> m_latency;  // of all tiers but the first
    std::array<LatencyCounter, k_max_tiers> m_miss_latency;
    LatencyCounter m_compile_latency;
};

}  // namespace hearth::engine
