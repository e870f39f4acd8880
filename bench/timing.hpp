#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hearth::bench {

// Keeps a result alive so that the work for it is not optimised away.
template <class T>
inline void keep(T&& value)
{
    asm volatile("" : : "g"(&value) : "memory");
}

std::uint64_t now_ns();

// Seconds that `work` takes: the least of `tries`.
double best_of(int tries, const std::function<void()>& work);

// Two works in turn, so that both see the same machine: the median of each over `tries`, in seconds.
struct Pair {
    double first = 0;
    double second = 0;
};
Pair side_by_side(int tries, const std::function<void()>& first, const std::function<void()>& second);

double median(std::vector<double> values);

// Runs `work(thread)` on each of `threads` threads at once, again and again for about `seconds`, `batch` operations a
// call; operations a second over all threads.
double throughput(unsigned threads, double seconds, std::uint64_t batch, const std::function<void(unsigned)>& work);

}  // namespace hearth::bench
