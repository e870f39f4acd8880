#pragma once

#include <cstdint>
#include <latch>
#include <thread>
#include <vector>

namespace hearth::test {

// Calls work(0), work(1), ... at once, each in a thread of its own, and returns when all have ended.
template <class Work>
void in_threads(std::uint64_t count, Work&& work)
{
    std::latch start(static_cast<std::ptrdiff_t>(count));
    std::vector<std::jthread> threads;
    for (std::uint64_t number = 0; number < count; ++number)
        threads.emplace_back([&, number] {
            start.arrive_and_wait();
            work(number);
        });
}

}  // namespace hearth::test
