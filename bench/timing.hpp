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

// Several tries of one figure: their median, and how far they lie apart.
struct Measured {
    Measured(double single = 0) : value(single), low(single), high(single), p99(single) {}  // NOLINT: a plain figure

    double value;
    double low;   // a tenth of the tries are lower
    double high;  // a tenth are higher
    double p99;   // says something of `k_enough_for_p99` tries or more
    std::size_t tries = 1;

    Measured operator*(double factor) const;
    Measured inverse() const;  // of a rate: the time
};
constexpr std::size_t k_enough_for_p99 = 100;

Measured median(std::vector<double> values);

// Seconds that `work` takes: the least of `tries`.
double best_of(int tries, const std::function<void()>& work);

// Two works in turn, so that both see the same machine: each over `tries`, in seconds.
struct Pair {
    Measured first;
    Measured second;
};
Pair side_by_side(int tries, const std::function<void()>& first, const std::function<void()>& second);

// Runs `work(thread)` on each of `threads` threads at once, again and again, `batch` operations a call; million
// operations a second over all threads.
Measured throughput(unsigned threads, std::uint64_t batch, const std::function<void(unsigned)>& work);

// Work that takes the processor, as a compile does: who else takes it meanwhile makes it longer.
void do_work(std::uint64_t rounds);
std::uint64_t rounds_in(double seconds);  // on this machine, with nobody else there

}  // namespace hearth::bench
