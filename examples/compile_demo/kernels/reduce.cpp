// Sums, extremes and histograms of long vectors: pairwise and compensated, in parallel chunks.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <future>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

template <class T>
T pairwise_sum(std::span<const T> values)
{
    if (values.size() <= 128)
        return std::accumulate(values.begin(), values.end(), T{});
    const std::size_t half = values.size() / 2;
    return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
}

// Neumaier's variant of Kahan's sum: exact to a rounding error however the magnitudes are mixed.
template <class T>
T compensated_sum(std::span<const T> values)
{
    T sum{};
    T lost{};
    for (const T value : values) {
        const T next = sum + value;
        lost += std::abs(sum) >= std::abs(value) ? (sum - next) + value : (value - next) + sum;
        sum = next;
    }
    return sum + lost;
}

template <class T, class Map, class Fold>
auto parallel_reduce(std::span<const T> values, Map map, Fold fold)
{
    const std::size_t workers = std::max<std::size_t>(1, std::thread::hardware_concurrency());
    const std::size_t chunk = (values.size() + workers - 1) / workers;
    std::vector<std::future<decltype(map(values))>> parts;
    for (std::size_t start = 0; start < values.size(); start += chunk) {
        const auto part = values.subspan(start, std::min(chunk, values.size() - start));
        parts.push_back(std::async(std::launch::async, [part, map] { return map(part); }));
    }
    decltype(map(values)) result{};
    for (auto& part : parts)
        result = fold(std::move(result), part.get());
    return result;
}

double sum(std::span<const double> values)
{
    return parallel_reduce(values, pairwise_sum<double>, [](double a, double b) { return a + b; });
}

double exact_sum(std::span<const double> values)
{
    return parallel_reduce(values, compensated_sum<double>, [](double a, double b) { return a + b; });
}

struct Extremes {
    float least = std::numeric_limits<float>::infinity();
    float greatest = -std::numeric_limits<float>::infinity();
};

Extremes extremes(std::span<const float> values)
{
    const auto of_part = [](std::span<const float> part) {
        Extremes found;
        for (const float value : part) {
            found.least = std::min(found.least, value);
            found.greatest = std::max(found.greatest, value);
        }
        return found;
    };
    return parallel_reduce(values, of_part, [](Extremes a, Extremes b) {
        return Extremes{std::min(a.least, b.least), std::max(a.greatest, b.greatest)};
    });
}

std::map<int, std::uint64_t> histogram_by_exponent(std::span<const double> values)
{
    const auto of_part = [](std::span<const double> part) {
        std::map<int, std::uint64_t> counts;
        for (const double value : part)
            ++counts[std::ilogb(value)];
        return counts;
    };
    return parallel_reduce(values, of_part, [](auto all, const auto& part) {
        for (const auto& [exponent, count] : part)
            all[exponent] += count;
        return all;
    });
}
