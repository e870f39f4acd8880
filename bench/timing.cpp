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

double median(std::vector<double> values)
{
    if (values.empty())
        return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

double throughput(unsigned threads, double seconds, std::uint64_t batch, const std::function<void(unsigned)>& work)
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
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop = true;
    for (std::thread& thread : running)
        thread.join();
    const double took = static_cast<double>(now_ns() - start) * 1e-9;
    std::uint64_t total = 0;
    for (const std::uint64_t done : batches)
        total += done * batch;
    return static_cast<double>(total) / took;
}

}  // namespace hearth::bench
