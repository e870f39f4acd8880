#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace hearth::engine {

// Says when the next of many reads may begin, so that all of them stay below a number of bytes a second. Time in which
// nothing was read is not made up for.
class Pace {
public:
    using Time = std::chrono::steady_clock::time_point;

    explicit Pace(std::uint64_t bytes_per_second) : m_rate(bytes_per_second) {}  // 0: no limit

    void add(std::uint64_t bytes, Time began)
    {
        if (m_rate == 0)
            return;
        // A day is as good as for ever, and far from what would overflow a clock.
        static constexpr std::chrono::duration<double> k_most = std::chrono::days(1);
        const std::chrono::duration<double> takes(static_cast<double>(bytes) / static_cast<double>(m_rate));
        m_next = std::max(m_next, began) + std::chrono::duration_cast<Time::duration>(std::min(takes, k_most));
    }
    Time next() const { return m_next; }

private:
    std::uint64_t m_rate;
    Time m_next{};
};

}  // namespace hearth::engine
