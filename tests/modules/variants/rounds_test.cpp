// 54: what timed launches prove, and what they do not.

#include "modules/variants/rounds.hpp"

#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <random>

namespace hearth::test {

namespace {

using cuda::Rounds;

// Launches whatever has its turn, until it is settled; `time` gives what each takes. Returns the number of launches.
int run(Rounds& rounds, const std::function<double(std::size_t candidate, int launch)>& time)
{
    int launches = 0;
    while (const std::optional<Rounds::Turn> turn = rounds.next())
        rounds.add(*turn, time(turn->candidate, launches++));
    EXPECT_TRUE(rounds.settled());
    return launches;
}

// A noisy device: some percent of noise, and now and then a launch that something else has held up.
class Noise {
public:
    explicit Noise(unsigned seed) : m_random(seed) {}
    double operator()(double time)
    {
        const double held_up = std::uniform_real_distribution<>(0, 1)(m_random) < 0.05 ? 3 : 1;
        return time * held_up * std::lognormal_distribution<>(0, 0.01)(m_random);
    }

private:
    std::mt19937 m_random;
};

}  // namespace

TEST(Rounds, a_variant_that_is_clearly_better_wins_in_twenty_rounds)
{
    Noise noise(1);
    Rounds rounds(3, 0.03, 1);
    EXPECT_EQ(run(rounds, [&](std::size_t candidate, int) { return noise(candidate == 2 ? 80e3 : 100e3); }), 60);
    EXPECT_EQ(rounds.winner(), 2U);
    EXPECT_NEAR(rounds.times(2).ratio, 0.8, 0.02);
    EXPECT_LE(rounds.times(2).highest, 0.97);
    EXPECT_EQ(rounds.times(2).launches, 20U);
}

TEST(Rounds, the_best_of_several_that_are_better_wins)
{
    Noise noise(2);
    Rounds rounds(4, 0.03, 1);
    run(rounds, [&](std::size_t candidate, int) { return noise(100e3 - 10e3 * static_cast<double>(candidate)); });
    EXPECT_EQ(rounds.winner(), 3U);
}

TEST(Rounds, equal_variants_hardly_ever_win_however_much_noise_there_is)
{
    int wrong = 0;
    for (unsigned seed = 0; seed < 1000; ++seed) {
        Noise noise(seed);
        Rounds rounds(4, 0.0, seed);  // no gain is asked for: only the noise is between them
        run(rounds, [&](std::size_t, int) { return noise(noise(noise(100e3))); });
        wrong += rounds.winner() != 0 ? 1 : 0;
    }
    // 0.05 % for each of three variants and each of three looks at most.
    EXPECT_LE(wrong, 12);
}

TEST(Rounds, what_gains_less_than_is_asked_for_does_not_win)
{
    Rounds rounds(2, 0.03, 1);
    run(rounds, [](std::size_t candidate, int launch) { return (candidate == 1 ? 98e3 : 100e3) + launch % 7; });
    EXPECT_EQ(rounds.winner(), 0U);
    EXPECT_NEAR(rounds.times(1).ratio, 0.98, 0.001);
}

// Were the variants timed one after the other, the last would win here.
TEST(Rounds, a_device_that_gets_faster_all_the_time_makes_no_winner)
{
    Rounds rounds(3, 0.03, 1);
    run(rounds, [](std::size_t, int launch) { return 1e6 / (1 + 0.02 * launch); });
    EXPECT_EQ(rounds.winner(), 0U);
}

// Four launches of a layer, of which two are larger. With the turns in a fixed order, each candidate would meet always
// the same of them, and one that is slower by half would seem twice as fast.
TEST(Rounds, launches_that_repeat_in_a_pattern_make_no_winner_of_a_slower_variant)
{
    constexpr std::array<double, 4> k_pattern{300e3, 100e3, 100e3, 300e3};
    int wrong = 0;
    for (std::uint32_t seed = 0; seed < 1000; ++seed) {
        Rounds rounds(2, 0.03, seed);
        run(rounds, [&](std::size_t candidate, int launch) {
            return k_pattern[static_cast<std::size_t>(launch) % 4] * (candidate == 1 ? 1.5 : 1.0);
        });
        wrong += rounds.winner() != 0 ? 1 : 0;
    }
    EXPECT_LE(wrong, 3);
}

TEST(Rounds, what_promises_more_than_twenty_rounds_prove_is_measured_longer)
{
    std::mt19937 random(5);
    Rounds rounds(2, 0.03, 1);
    const int launches = run(rounds, [&](std::size_t candidate, int) {
        return std::lognormal_distribution<>(candidate == 1 ? -0.10 : 0, 0.12)(random) * 1e5;
    });
    EXPECT_GT(launches, 40);
    EXPECT_LE(launches, 120);
}

TEST(Rounds, a_variant_that_is_always_slower_costs_six_launches)
{
    Rounds rounds(3, 0.03, 1);
    run(rounds, [](std::size_t candidate, int launch) {
        return (candidate == 1 ? 900e3 : candidate == 2 ? 50e3 : 100e3) + launch % 3;
    });
    EXPECT_TRUE(rounds.hopeless(1));
    EXPECT_EQ(rounds.times(1).launches, 6U);
    EXPECT_EQ(rounds.winner(), 2U);
}

TEST(Rounds, no_more_is_launched_than_may_decide_while_times_are_out)
{
    Rounds rounds(2, 0.03, 1);
    std::vector<Rounds::Turn> turns;
    while (const std::optional<Rounds::Turn> turn = rounds.next())
        turns.push_back(*turn);
    EXPECT_EQ(turns.size(), 40U);
    EXPECT_FALSE(rounds.settled());
    for (const Rounds::Turn& turn : turns)
        rounds.add(turn, turn.candidate == 1 ? 50 : 100);
    EXPECT_TRUE(rounds.settled());
    EXPECT_EQ(rounds.winner(), 1U);
}

TEST(Rounds, a_round_with_a_lost_time_is_launched_again_and_one_without_any_times_ends)
{
    Rounds rounds(2, 0.03, 1);
    int number = 0;
    while (const std::optional<Rounds::Turn> turn = rounds.next()) {
        if (number++ % 5 == 0)
            rounds.lose(*turn);
        else
            rounds.add(*turn, turn->candidate == 1 ? 50 : 100);
    }
    EXPECT_TRUE(rounds.settled());
    EXPECT_EQ(rounds.winner(), 1U);

    Rounds hopeless(2, 0.03, 1);
    number = 0;
    while (const std::optional<Rounds::Turn> turn = hopeless.next()) {
        hopeless.lose(*turn);
        ASSERT_LT(++number, 1000);
    }
    EXPECT_TRUE(hopeless.settled());
    EXPECT_TRUE(hopeless.gave_up());
    EXPECT_EQ(hopeless.winner(), 0U);
}

TEST(Rounds, when_all_variants_are_dropped_the_first_stays)
{
    Rounds rounds(3, 0.03, 1);
    static_cast<void>(rounds.next());
    rounds.drop(1);
    EXPECT_FALSE(rounds.settled());
    rounds.drop(2);
    EXPECT_TRUE(rounds.settled());
    EXPECT_EQ(rounds.winner(), 0U);
}

}  // namespace hearth::test
