#include "trace/trace.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>
#include <utility>

namespace hearth::bench {

namespace {

constexpr double k_least_bytes = 1e3;
constexpr double k_greatest_bytes = 100e6;
constexpr double k_least_seconds = 0.030;
constexpr double k_greatest_seconds = 60;

// The standard's distributions may differ between libraries; these do not.
class Random {
public:
    explicit Random(std::uint64_t seed) : m_engine(seed) {}

    double unit() { return static_cast<double>(m_engine() >> 11) * 0x1p-53; }
    std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(unit() * limit); }

private:
    std::mt19937_64 m_engine;
};

double log_uniform(double least, double greatest, double position)
{
    return least * std::pow(greatest / least, position);
}

std::vector<Kernel> make_kernels(const TraceOptions& options, Random& random)
{
    std::vector<Kernel> kernels(options.kernels);
    for (Kernel& kernel : kernels) {
        const double size = random.unit();
        const double offset = options.cost_spread * (2 * random.unit() - 1);
        const double cost = std::clamp(size + offset, 0.0, 1.0);
        kernel.bytes = static_cast<std::uint64_t>(log_uniform(k_least_bytes, k_greatest_bytes, size));
        kernel.seconds = log_uniform(k_least_seconds, k_greatest_seconds, cost);
    }
    return kernels;
}

}  // namespace

Trace make_trace(const TraceOptions& options)
{
    Random random(options.seed);
    Trace trace;
    trace.kernels = make_kernels(options, random);

    std::vector<double> cumulative(options.kernels);
    double weight = 0;
    for (std::uint32_t rank = 0; rank < options.kernels; ++rank)
        cumulative[rank] = weight += std::pow(rank + 1.0, -options.zipf);

    // Kernels were drawn at random, so the order they stand in serves as the first ranking.
    std::vector<std::uint32_t> by_rank(options.kernels);
    std::iota(by_rank.begin(), by_rank.end(), 0U);

    const double scan_chance = options.scan_share / (1 - options.scan_share) / options.scan_length;
    trace.requests.reserve(options.requests + options.scan_length);
    std::uint32_t next_drift = options.drift_every;
    while (trace.requests.size() < options.requests) {
        if (trace.requests.size() >= next_drift) {
            for (std::uint32_t swap = 0; swap < options.drift_swaps; ++swap)
                std::swap(by_rank[random.below(options.kernels)], by_rank[random.below(options.kernels)]);
            next_drift += options.drift_every;
        }
        if (random.unit() < scan_chance) {
            const std::uint32_t start = random.below(options.kernels);
            for (std::uint32_t step = 0; step < options.scan_length; ++step)
                trace.requests.push_back((start + step) % options.kernels);
        }
        const auto drawn = std::upper_bound(cumulative.begin(), cumulative.end(), random.unit() * weight);
        const auto rank = std::min<std::ptrdiff_t>(drawn - cumulative.begin(), options.kernels - 1);
        trace.requests.push_back(by_rank[static_cast<std::size_t>(rank)]);
    }
    trace.requests.resize(options.requests);
    return trace;
}

std::map<std::string, Trace> read_traces(const std::string& path)
{
    std::map<std::string, Trace> families;
    std::map<std::string, std::map<std::uint32_t, std::uint32_t>> numbers;  // in the family, of kernels of all
    Trace mixed;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string family;
        words >> family;
        for (std::string word; words >> word;) {
            std::uint32_t number = 0;
            Kernel kernel;
            std::uint64_t microseconds = 0;
            char end = 0;
            const int found = std::sscanf(word.c_str(), "%" SCNu32 ":%" SCNu64 ":%" SCNu64 "%c", &number, &kernel.bytes,
                                          &microseconds, &end);
            const bool is_new = number == mixed.kernels.size();
            if (found != (is_new ? 3 : 1) || number > mixed.kernels.size())
                return {};
            if (is_new) {
                kernel.seconds = static_cast<double>(microseconds) / 1e6;
                mixed.kernels.push_back(kernel);
            }
            mixed.requests.push_back(number);
            Trace& own = families[family];
            const auto [at, is_new_here] =
                numbers[family].try_emplace(number, static_cast<std::uint32_t>(own.kernels.size()));
            if (is_new_here)
                own.kernels.push_back(mixed.kernels[number]);
            own.requests.push_back(at->second);
        }
    }
    if (families.size() > 1)
        families.emplace("mixed", std::move(mixed));
    return families;
}

}  // namespace hearth::bench
