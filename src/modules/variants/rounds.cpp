#include "modules/variants/rounds.hpp"

#include <algorithm>
#include <numeric>

namespace hearth::cuda {

namespace {

constexpr std::size_t k_first_look = 20;
constexpr std::size_t k_last_look = 60;
constexpr std::size_t k_hopeless_after =
    6;  // a candidate that is really better loses so many in a row once in 64 times
constexpr std::size_t k_most_rounds = 10'000;  // where launches fail again and again
constexpr double k_uncertainty = 0.001;

double middle_of(const std::vector<double>& sorted)
{
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// The largest k for which the k-th smallest and the k-th largest of n enclose the median with the certainty asked for;
// 0 if even the ends do not. It fails if fewer than k of n fair coins fall on one side.
std::size_t place_of_bound(std::size_t n)
{
    double chance = 1;  // of exactly i heads, times 2^n
    double below = 0;
    double all = 1;
    for (std::size_t i = 0; i < n; ++i)
        all *= 2;
    std::size_t k = 0;
    for (std::size_t i = 0; i < n / 2; ++i) {
        below += chance;
        if (2 * below / all > k_uncertainty)
            return k;
        k = i + 1;
        chance = chance * static_cast<double>(n - i) / static_cast<double>(i + 1);
    }
    return k;
}

}  // namespace

Rounds::Rounds(std::size_t candidates, double least_gain, std::uint32_t seed)
    : m_most(1 - least_gain), m_live(candidates, true), m_hopeless(candidates, false), m_target(k_first_look),
      m_random(seed)
{
    m_settled = candidates < 2;
}

std::optional<Rounds::Turn> Rounds::next()
{
    if (m_settled)
        return std::nullopt;
    const auto turn_in_last = [&]() -> std::optional<Turn> {
        Round& round = m_rounds.back();
        while (!round.lost && !round.to_launch.empty()) {
            const std::size_t candidate = round.to_launch.back();
            round.to_launch.pop_back();
            if (m_live[candidate])
                return Turn{m_rounds.size() - 1, candidate};
        }
        return std::nullopt;
    };
    if (!m_rounds.empty())
        if (const std::optional<Turn> turn = turn_in_last())
            return turn;
    const auto lost = std::count_if(m_rounds.begin(), m_rounds.end(), [](const Round& round) { return round.lost; });
    if (m_rounds.size() - static_cast<std::size_t>(lost) >= m_target)
        return std::nullopt;
    if (m_rounds.size() >= k_most_rounds) {
        m_settled = m_gave_up = true;
        return std::nullopt;
    }
    std::vector<std::size_t> order(m_live.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), m_random);
    m_rounds.push_back({std::vector<double>(m_live.size()), std::move(order), false});
    return turn_in_last();
}

void Rounds::add(const Turn& turn, double nanoseconds)
{
    if (nanoseconds <= 0)
        return lose(turn);
    m_rounds[turn.round].times[turn.candidate] = nanoseconds;
    judge();
}

void Rounds::lose(const Turn& turn)
{
    cancel(turn);
    if (++m_lost > k_last_look && !m_settled)
        m_settled = m_gave_up = true;
}

void Rounds::cancel(const Turn& turn)
{
    m_rounds[turn.round].lost = true;
}

void Rounds::drop(std::size_t candidate)
{
    m_live[candidate] = false;
    judge();
}

bool Rounds::is_whole(const Round& round) const
{
    if (round.lost)
        return false;
    for (std::size_t i = 0; i < m_live.size(); ++i)
        if (m_live[i] && round.times[i] == 0)
            return false;
    return true;
}

std::vector<double> Rounds::ratios(std::size_t candidate) const
{
    std::vector<double> all;
    for (const Round& round : m_rounds)
        if (!round.lost && round.times[0] > 0 && round.times[candidate] > 0)
            all.push_back(round.times[candidate] / round.times[0]);
    std::sort(all.begin(), all.end());
    return all;
}

void Rounds::judge()
{
    if (m_settled)
        return;
    for (std::size_t i = 1; i < m_live.size(); ++i)
        if (const std::vector<double> all = m_live[i] ? ratios(i) : std::vector<double>{};
            all.size() >= k_hopeless_after && all.front() > 1) {
            m_live[i] = false;
            m_hopeless[i] = true;
        }
    if (std::count(m_live.begin(), m_live.end(), true) < 2) {
        m_settled = true;
        return;
    }
    const auto whole = static_cast<std::size_t>(
        std::count_if(m_rounds.begin(), m_rounds.end(), [this](const Round& round) { return is_whole(round); }));
    if (whole < m_target)
        return;
    // The one that promises most has to prove it; others may only win if it cannot.
    std::size_t promising = 0;
    std::size_t proven = 0;
    double most_promising = m_most;
    double best_proven = m_most;
    for (std::size_t i = 1; i < m_live.size(); ++i) {
        if (!m_live[i])
            continue;
        const Times times = this->times(i);
        if (times.ratio <= most_promising) {
            most_promising = times.ratio;
            promising = i;
        }
        if (times.highest <= m_most && times.ratio <= best_proven) {
            best_proven = times.ratio;
            proven = i;
        }
    }
    if (promising != proven && m_target < k_last_look) {
        m_target += k_first_look;
        return;
    }
    m_winner = proven;
    m_settled = true;
}

Rounds::Times Rounds::times(std::size_t candidate) const
{
    std::vector<double> known;
    for (const Round& round : m_rounds)
        if (round.times[candidate] > 0)
            known.push_back(round.times[candidate]);
    if (known.empty())
        return {};
    std::sort(known.begin(), known.end());
    Times times{.launches = static_cast<std::uint32_t>(known.size()), .median_ns = middle_of(known)};
    const std::vector<double> sorted = ratios(candidate);
    if (const std::size_t place = place_of_bound(sorted.size()); place > 0) {
        times.ratio = middle_of(sorted);
        times.lowest = sorted[place - 1];
        times.highest = sorted[sorted.size() - place];
    } else if (!sorted.empty()) {
        times.ratio = middle_of(sorted);
    }
    return times;
}

double Rounds::total_ns() const
{
    double total = 0;
    for (const Round& round : m_rounds)
        for (const double time : round.times)
            total += time;
    return total;
}

}  // namespace hearth::cuda
