// Hits in memory, beside the maps and caches that a program would otherwise use: alone, on all cores, and beside a
// thread that replaces entries all the while.

#include "benches.hpp"
#include "hearth/hearth.hpp"
#include "rival_caches.hpp"
#include "sample_entries.hpp"
#include "timing.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <random>
#include <thread>

namespace hearth::bench {

namespace {

constexpr std::size_t k_sequence = 1 << 16;
constexpr std::size_t k_batch = 4096;
static_assert(k_sequence % k_batch == 0);

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

Contender ours()
{
    CacheOptions options;
    options.tiers = {memory(1_GiB)};
    options.maintenance = Maintenance::by_hand;
    const auto cache = std::make_shared<Cache>(Cache::open(options).value());
    return {"Hearth", "",
            [cache](std::span<const Key> keys) {
                for (const Key& key : keys) {
                    const Lookup lookup = cache->find(key);
                    keep(lookup->status);
                }
            },
            [cache](const Key& key, const std::shared_ptr<const Artifact>& artifact) {
                (void)cache->insert(key, *artifact);
            }};
}

// Million hits a second over all threads. Each thread goes through the whole sequence, from a place of its own.
Measured hits(unsigned threads, const Sequence& sequence, const Contender& contender)
{
    struct alignas(128) Position {
        std::size_t at = 0;
    };
    std::vector<Position> positions(threads);
    for (std::size_t i = 0; i < threads; ++i)
        positions[i].at = i * 5 * k_batch % k_sequence;
    return throughput(threads, k_batch, [&](unsigned thread) {
        std::size_t& at = positions[thread].at;
        contender.find_all({sequence.data() + at, k_batch});
        at = (at + k_batch) % k_sequence;
    });
}

class MemoryBench {
public:
    MemoryBench(Report& report, std::size_t entries) : m_report(report), m_ours(ours()), m_rivals(rival_caches(entries))
    {
        for (std::uint64_t i = 0; i < entries; ++i) {
            m_keys.push_back(numbered_key(i));
            m_artifacts.push_back(std::make_shared<const Artifact>(assembly_artifact(256, i)));
            m_ours.put(m_keys.back(), m_artifacts.back());
            for (const Contender& rival : m_rivals)
                rival.put(m_keys.back(), m_artifacts.back());
        }
    }

    const std::vector<Key>& keys() const { return m_keys; }

    void row(const std::string& name, const Sequence& sequence)
    {
        const std::string prefix = "memory_hit." + name;
        const Measured alone = hits(1, sequence, m_ours);
        const Measured together = hits(m_cores, sequence, m_ours);
        m_report.add(prefix + ".one_thread", alone, "M/s");
        m_report.add_beside(prefix + ".scaling", together, "M/s", fmt::format("{} x one thread", m_cores),
                            alone * m_cores);
        for (const Contender& rival : m_rivals) {
            m_report.add_beside(fmt::format("{}.one_thread.{}", prefix, rival.row), alone, "M/s", rival.name,
                                hits(1, sequence, rival));
            m_report.add_beside(fmt::format("{}.all_cores.{}", prefix, rival.row), together, "M/s", rival.name,
                                hits(m_cores, sequence, rival));
        }
    }

    // All cores but one look up; on the last, or beside the only one, a thread replaces entries without a pause.
    void beside_inserts(const std::string& name, const Sequence& sequence)
    {
        const std::string prefix = fmt::format("memory_hit.{}.beside_inserts", name);
        const unsigned readers = std::max(1U, m_cores - 1);
        const Measured disturbed = while_inserting(readers, sequence, m_ours);
        m_report.add_beside(prefix, disturbed, "M/s", "the same with no inserts", hits(readers, sequence, m_ours));
        for (const Contender& rival : m_rivals)
            m_report.add_beside(fmt::format("{}.{}", prefix, rival.row), disturbed, "M/s",
                                rival.name + ", beside inserts", while_inserting(readers, sequence, rival));
    }

private:
    Measured while_inserting(unsigned readers, const Sequence& sequence, const Contender& contender) const
    {
        const std::jthread inserting([&](const std::stop_token& stop) {
            for (std::size_t i = 0; !stop.stop_requested(); ++i)
                contender.put(m_keys[i % m_keys.size()], m_artifacts[i % m_keys.size()]);
        });
        return hits(readers, sequence, contender);
    }

    Report& m_report;
    const Contender m_ours;
    const std::vector<Contender> m_rivals;
    const unsigned m_cores = std::max(1U, std::thread::hardware_concurrency());
    std::vector<Key> m_keys;
    std::vector<std::shared_ptr<const Artifact>> m_artifacts;
};

}  // namespace

void bench_memory(Report& report)
{
    {
        MemoryBench some(report, 10'000);
        const Sequence zipf = zipf_sequence(some.keys(), 0.99);
        some.row("uniform", uniform_sequence(some.keys()));
        some.row("zipf", zipf);
        some.row("one_hot_key", Sequence(k_sequence, some.keys()[42]));
        some.beside_inserts("zipf", zipf);
    }
    MemoryBench many(report, 100'000);
    many.row("uniform.1e5_entries", uniform_sequence(many.keys()));
    many.row("zipf.1e5_entries", zipf_sequence(many.keys(), 0.99));
}

}  // namespace hearth::bench
