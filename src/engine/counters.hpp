#pragma once

#include "base/fork.hpp"
#include "base/thread_index.hpp"
#include "hearth/stats.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

// Exact counts that cost a hit nothing shared: every thread adds to a stripe of its own, and reading sums the stripes.

namespace hearth::engine {

inline constexpr std::size_t k_max_tiers = 8;

enum class Count : std::uint8_t {
    stores,
    makes,
    make_failures,
    failures_replayed,
    coalesced,
    forbidden,
    dropped_stores,
    make_ns_spent,
    outages,
    first_miss,  // k_miss_reasons of them follow
    end = first_miss + k_miss_reasons,
};

enum class TierCount : std::uint8_t { hits, saved_ns, stores, evictions, demotions, promotions, corrupt, outages, end };

// Thread safety: all of it. Cost of add(): a load and a store in the calling thread's own cache line.
class Counters {
    static constexpr std::size_t k_per_tier = static_cast<std::size_t>(TierCount::end);
    static constexpr std::size_t k_tier_counts = k_max_tiers * k_per_tier;
    static constexpr std::size_t k_values = k_tier_counts + static_cast<std::size_t>(Count::end);
    static constexpr std::size_t k_stripes = 256;

    struct alignas(64) Stripe {
        std::array<std::atomic<std::uint64_t>, k_values> values{};
        bool shared = false;  // the last stripe serves every thread beyond the others

        void add(std::size_t at, std::uint64_t amount)
        {
            std::atomic<std::uint64_t>& value = values[at];
            if (shared)
                value.fetch_add(amount, std::memory_order_relaxed);
            else
                value.store(value.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
        }
    };

    static constexpr std::size_t place(Count count) { return k_tier_counts + static_cast<std::size_t>(count); }
    static constexpr std::size_t place(std::size_t tier, TierCount count)
    {
        return tier * k_per_tier + static_cast<std::size_t>(count);
    }

public:
    Counters() = default;
    ~Counters();
    Counters(const Counters&) = delete;
    Counters& operator=(const Counters&) = delete;

    void add(Count count, std::uint64_t amount = 1) { stripe().add(place(count), amount); }
    void add(std::size_t tier, TierCount count, std::uint64_t amount = 1) { stripe().add(place(tier, count), amount); }
    void miss(Miss why, std::uint64_t amount = 1)
    {
        stripe().add(place(Count::first_miss) + static_cast<std::size_t>(why), amount);
    }

    // The calling thread's own counts, to be got once for a lookup.
    class Mine {
    public:
        // Whether the next hit in this tier is to be timed: every 128th of a thread is.
        bool time_next(std::size_t tier) const
        {
            return m_stripe.values[place(tier, TierCount::hits)].load(std::memory_order_relaxed) % 128 == 0;
        }
        void hit(std::size_t tier, std::chrono::nanoseconds saved)
        {
            m_stripe.add(place(tier, TierCount::hits), 1);
            m_stripe.add(place(tier, TierCount::saved_ns),
                         static_cast<std::uint64_t>(std::max<std::int64_t>(saved.count(), 0)));
        }

    private:
        friend class Counters;
        explicit Mine(Counters::Stripe& stripe) : m_stripe(stripe) {}
        Counters::Stripe& m_stripe;
    };
    Mine mine() { return Mine(stripe()); }

    std::uint64_t sum(Count count) const { return sum_at(place(count)); }
    std::uint64_t sum(std::size_t tier, TierCount count) const { return sum_at(place(tier, count)); }
    std::uint64_t misses(Miss why) const { return sum_at(place(Count::first_miss) + static_cast<std::size_t>(why)); }

private:
    Stripe& stripe()
    {
        const std::size_t index = base::thread_index();
        if (index >= k_stripes - 1) {
            // acquire: pairs with the release in make_stripe().
            Stripe* shared = m_stripes[k_stripes - 1].load(std::memory_order_acquire);
            return shared ? *shared : make_stripe(k_stripes - 1);
        }
        // relaxed: made by this thread, or by one that had its number before and handed it on under a lock.
        Stripe* mine = m_stripes[index].load(std::memory_order_relaxed);
        return mine ? *mine : make_stripe(index);
    }
    Stripe& make_stripe(std::size_t index);
    std::uint64_t sum_at(std::size_t at) const;

    std::array<std::atomic<Stripe*>, k_stripes> m_stripes{};
    base::ForkSafeMutex m_mutex{base::LockLevel::counters};
};

// A latency histogram many threads add to.
class LatencyCounter {
public:
    void add(std::uint64_t ns)
    {
        m_buckets[Latency::bucket_of(ns)].fetch_add(1, std::memory_order_relaxed);
        m_total_ns.fetch_add(ns, std::memory_order_relaxed);
    }
    Latency read() const;

private:
    std::array<std::atomic<std::uint64_t>, Latency::k_buckets> m_buckets{};
    std::atomic<std::uint64_t> m_total_ns{0};
};

}  // namespace hearth::engine
