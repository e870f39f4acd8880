// Hits in memory, beside the two maps with a lock that a program would otherwise write.

#include "benches.hpp"
#include "hearth/hearth.hpp"
#include "sample_entries.hpp"
#include "timing.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

namespace hearth::bench {

namespace {

constexpr std::size_t k_entries = 10000;
constexpr std::size_t k_sequence = 1 << 16;
constexpr std::uint64_t k_batch = 4096;
constexpr double k_seconds = 0.3;
constexpr int k_tries = 5;

using Sequence = std::vector<Key>;

Sequence uniform_sequence(const std::vector<Key>& keys)
{
    std::mt19937_64 random(1);
    Sequence sequence;
    for (std::size_t i = 0; i < k_sequence; ++i)
        sequence.push_back(keys[random() % keys.size()]);
    return sequence;
}

Sequence zipf_sequence(const std::vector<Key>& keys, double exponent)
{
    std::vector<double> cumulative;
    double total = 0;
    for (std::size_t rank = 1; rank <= keys.size(); ++rank)
        cumulative.push_back(total += std::pow(static_cast<double>(rank), -exponent));
    std::mt19937_64 random(2);
    std::uniform_real_distribution<double> any(0, total);
    Sequence sequence;
    for (std::size_t i = 0; i < k_sequence; ++i)
        sequence.push_back(keys[static_cast<std::size_t>(
            std::lower_bound(cumulative.begin(), cumulative.end(), any(random)) - cumulative.begin())]);
    return sequence;
}

template <class Mutex, class Lock>
class LockedMap {
public:
    void put(const Key& key, std::shared_ptr<const Artifact> artifact) { m_map.emplace(key, std::move(artifact)); }
    std::shared_ptr<const Artifact> find(const Key& key)
    {
        const Lock lock(m_mutex);
        const auto found = m_map.find(key);
        return found == m_map.end() ? nullptr : found->second;
    }

private:
    Mutex m_mutex;
    std::unordered_map<Key, std::shared_ptr<const Artifact>> m_map;
};

// Million hits a second over all threads; each thread starts elsewhere in the sequence.
template <class Find>
double hits(unsigned threads, const Sequence& sequence, Find&& find)
{
    std::vector<double> tries;
    for (int i = 0; i < k_tries; ++i)
        tries.push_back(throughput(threads, k_seconds, k_batch,
                                   [&](unsigned thread) {
                                       std::size_t at = thread * 7919;
                                       for (std::uint64_t n = 0; n < k_batch; ++n)
                                           find(sequence[at++ % k_sequence]);
                                   }) *
                        1e-6);
    return median(std::move(tries));
}

}  // namespace

void bench_memory(Report& report)
{
    CacheOptions options;
    options.tiers = {memory(1_GiB)};
    options.maintenance = Maintenance::by_hand;
    Cache cache = Cache::open(options).value();
    LockedMap<std::mutex, std::lock_guard<std::mutex>> with_mutex;
    LockedMap<std::shared_mutex, std::shared_lock<std::shared_mutex>> with_shared;
    std::vector<Key> keys;
    for (std::uint64_t i = 0; i < k_entries; ++i) {
        keys.push_back(numbered_key(i));
        auto artifact = std::make_shared<const Artifact>(assembly_artifact(256, i));
        (void)cache.insert(keys.back(), *artifact);
        with_mutex.put(keys.back(), artifact);
        with_shared.put(keys.back(), artifact);
    }
    const auto ours = [&](const Key& key) {
        const Lookup lookup = cache.find(key);
        keep(lookup->status);
    };
    const auto mutex_map = [&](const Key& key) { keep(with_mutex.find(key)->status); };
    const auto shared_map = [&](const Key& key) { keep(with_shared.find(key)->status); };

    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    struct Case {
        std::string name;
        Sequence sequence;
    };
    const std::vector<Case> cases{{"uniform", uniform_sequence(keys)},
                                  {"zipf", zipf_sequence(keys, 0.99)},
                                  {"one_hot_key", Sequence(k_sequence, keys[42])}};
    for (const Case& one : cases) {
        const double alone = hits(1, one.sequence, ours);
        const double together = hits(cores, one.sequence, ours);
        const std::string prefix = "memory_hit." + one.name;
        report.add_beside(prefix + ".one_thread", alone, "M/s", "mutex + unordered_map",
                          hits(1, one.sequence, mutex_map));
        report.add(prefix + ".one_thread.rate", alone, "M/s", 25, Better::higher);
        report.add_beside(prefix + ".all_cores", together, "M/s", "mutex + unordered_map",
                          hits(cores, one.sequence, mutex_map));
        report.add_beside(prefix + ".all_cores.shared", together, "M/s", "shared_mutex + unordered_map",
                          hits(cores, one.sequence, shared_map));
        report.add_beside(prefix + ".scaling", together, "M/s", fmt::format("{} x one thread", cores), alone * cores,
                          0.8, Better::higher);
    }
}

}  // namespace hearth::bench
