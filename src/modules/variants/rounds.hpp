#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace hearth::cuda {

// Rounds of timed launches, and what they prove. In each round every candidate runs once, so that all see the same
// state of the machine, in an order that is drawn anew: a program's launches often repeat in a pattern, and no
// candidate may always meet the same part of it. Candidate 0 is the first, which the others have to beat.
//
// Times of launches follow no known distribution: clocks change, other streams interfere, data differ. So only the
// order of the ratios counts that a candidate has to the first in the same round. Of n independent ratios, the k-th
// smallest and the k-th largest enclose the true median with a certainty that follows from coin tosses alone; k is
// chosen for 99.9 %, since a fleet believes a record for long. A candidate wins if even the upper end is below 1 by the
// gain that is asked for. 20 rounds decide; if the median promises more than they can prove, 40, then 60. Pure
// arithmetic. Thread safety: none.
class Rounds {
public:
    // One timed launch.
    struct Turn {
        std::size_t round;
        std::size_t candidate;
    };
    struct Times {
        std::uint32_t launches = 0;
        double median_ns = 0;
        double ratio = 0;  // of the rounds that are whole; 0: there is none, or too few for the interval
        double lowest = 0;
        double highest = 0;
    };

    // `seed` decides the orders.
    Rounds(std::size_t candidates, double least_gain, std::uint32_t seed = std::random_device{}());

    // Whose turn it is; none while times are still out that may decide.
    std::optional<Turn> next();
    void add(const Turn& turn, double nanoseconds);
    // Its time will never be known: the round does not count. Where that happens too often, the first stays.
    void lose(const Turn& turn);
    // It was not launched, by no fault of a candidate's: the round does not count.
    void cancel(const Turn& turn);
    // It takes part no more.
    void drop(std::size_t candidate);

    bool settled() const noexcept { return m_settled; }
    // Settled because times were lost, and not because anything was proven.
    bool gave_up() const noexcept { return m_gave_up; }
    std::size_t winner() const noexcept { return m_winner; }
    // It was slower than the first in each of the first rounds, and left out of the others.
    bool hopeless(std::size_t candidate) const noexcept { return m_hopeless[candidate]; }
    Times times(std::size_t candidate) const;
    double total_ns() const;

private:
    struct Round {
        std::vector<double> times;           // by candidate; 0: not known
        std::vector<std::size_t> to_launch;  // the next is the last
        bool lost = false;
    };

    bool is_whole(const Round& round) const;
    std::vector<double> ratios(std::size_t candidate) const;  // of whole rounds, sorted
    void judge();

    const double m_most;  // that a winner's ratio may be
    std::vector<bool> m_live;
    std::vector<bool> m_hopeless;
    std::vector<Round> m_rounds;
    std::size_t m_target;  // rounds after which it is judged
    std::size_t m_lost = 0;
    bool m_gave_up = false;
    std::mt19937 m_random;
    bool m_settled = false;
    std::size_t m_winner = 0;
};

}  // namespace hearth::cuda
