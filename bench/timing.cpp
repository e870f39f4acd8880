#include "timing.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <limits>
#include <thread>

namespace hearth::bench {

std::uint64_t now_ns()
{
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

namespace {

constexpr auto k_try = std::chrono::milliseconds(300);
constexpr int k_tries = 5;

double seconds_of(const std::function<void()>& work)
{
    const std::uint64_t start = now_ns();
    work();
    return static_cast<double>(now_ns() - start) * 1e-9;
}

}  // namespace

double best_of(int tries, const std::function<void()>& work)
{
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i < tries; ++i)
        best = std::min(best, seconds_of(work));
    return best;
}

Pair side_by_side(int tries, const std::function<void()>& first, const std::function<void()>& second)
{
    std::vector<double> firsts;
    std::vector<double> seconds;
    for (int i = 0; i < tries; ++i) {
        firsts.push_back(seconds_of(first));
        seconds.push_back(seconds_of(second));
    }
    return {median(std::move(firsts)), median(std::move(seconds))};
}

Measured Measured::operator*(double factor) const
{
    Measured product = *this;
    for (double* figure : {&product.value, &product.low, &product.high, &product.p99})
        *figure *= factor;
    return product;
}

Measured Measured::inverse() const
{
    Measured time = *this;
    time.value = 1 / value;
    time.low = 1 / high;
    time.high = 1 / low;
    time.p99 = 0;  // the fastest of a rate is not the slowest of its times
    return time;
}

Measured median(std::vector<double> values)
{
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    const auto at = [&](std::size_t percent) { return values[(values.size() - 1) * percent / 100]; };
    Measured all(values[values.size() / 2]);
    all.low = at(10);
    all.high = values[values.size() - 1 - (values.size() - 1) / 10];
    all.p99 = at(99);
    all.tries = values.size();
    return all;
}

namespace {

double one_throughput(unsigned threads, std::uint64_t batch, const std::function<void(unsigned)>& work)
{
    std::atomic<bool> stop{false};
    std::vector<std::uint64_t> batches(threads);
    std::barrier ready(static_cast<std::ptrdiff_t>(threads) + 1);
    std::vector<std::thread> running;
    for (unsigned thread = 0; thread < threads; ++thread)
        running.emplace_back([&, thread] {
            work(thread);
            ready.arrive_and_wait();
            std::uint64_t done = 0;
            for (; !stop.load(std::memory_order_relaxed); ++done)
                work(thread);
            batches[thread] = done;
        });
    ready.arrive_and_wait();
    const std::uint64_t start = now_ns();
    std::this_thread::sleep_for(k_try);
    stop = true;
    for (std::thread& thread : running)
        thread.join();
    const double took = static_cast<double>(now_ns() - start) * 1e-9;
    std::uint64_t total = 0;
    for (const std::uint64_t done : batches)
        total += done * batch;
    return static_cast<double>(total) * 1e-6 / took;
}

}  // namespace

Measured throughput(unsigned threads, std::uint64_t batch, const std::function<void(unsigned)>& work)
{
    std::vector<double> tries;
    for (int i = 0; i < k_tries; ++i)
        tries.push_back(one_throughput(threads, batch, work));
    return median(std::move(tries));
}

void do_work(std::uint64_t rounds)
{
    std::uint64_t state = rounds;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        keep(state);
    }
}

std::uint64_t rounds_in(double seconds)
{
    constexpr std::uint64_t k_some = 5'000'000;
    return static_cast<std::uint64_t>(seconds / best_of(9, [] { do_work(k_some); }) * k_some);
}

}  // namespace hearth::bench
