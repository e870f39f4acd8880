#include "cache_test.hpp"
#include "hearth/admin.hpp"
#include "hooked_tier.hpp"
#include "worker_process.hpp"

#include <latch>
#include <memory>
#include <thread>

// Several processes on one directory: one make among them, a killed holder, and statistics of all (25, 42, 66, 70).

namespace hearth::test {

namespace {

using namespace std::chrono_literals;

class Processes : public CacheTest {
protected:
    std::unique_ptr<WorkerProcess> worker(std::chrono::milliseconds flight_wait = 1h) const
    {
        return std::make_unique<WorkerProcess>(directory(), flight_wait);
    }
    // One that has the flight of "kernel" and waits for what it is to make of it.
    std::unique_ptr<WorkerProcess> maker(std::chrono::milliseconds flight_wait = 1h) const
    {
        std::unique_ptr<WorkerProcess> process = worker(flight_wait);
        EXPECT_EQ(process->ask("make kernel"), "making");
        return process;
    }
    // A cache that waits as long as it takes, and tells when it has seen that another process makes.
    Cache open_patient(std::latch& busy)
    {
        TierHooks hooks;
        hooks.flight_tried = [&busy, seen = false](const FlightAttempt& attempt) mutable {
            if (attempt.outcome == FlightAttempt::Outcome::busy && !std::exchange(seen, true))
                busy.count_down();
        };
        CacheOptions patient = with({memory(0), hooked(disk_here(), hooks)});
        patient.flight_wait = 1h;
        return open(patient);
    }
    static Key key_of(const std::string& name) { return Key::of("worker", name); }
};

TEST_F(Processes, one_stores_another_hits_with_zero_makes)
{
    const auto first = maker();
    EXPECT_EQ(first->ask("cubin"), "got compiled cubin");
    EXPECT_EQ(first->finish(), 0);
    const auto second = worker();
    EXPECT_EQ(second->ask("make kernel"), "got disk cubin");
    EXPECT_EQ(second->ask("find kernel"), "hit disk cubin");
    EXPECT_EQ(second->ask("find other"), "miss absent");
    EXPECT_EQ(second->ask("stats"), "2 2 1 1");
}

TEST_F(Processes, sixteen_processes_on_one_key_make_once)
{
    constexpr std::size_t k_processes = 16;
    std::vector<std::unique_ptr<WorkerProcess>> owners;
    std::vector<WorkerProcess*> waiting;
    for (std::size_t i = 0; i < k_processes; ++i) {
        waiting.push_back(owners.emplace_back(worker()).get());
        // It is up and has the directory open before the first of them asks.
        ASSERT_EQ(waiting.back()->ask("find nothing"), "miss absent");
    }
    for (WorkerProcess* process : waiting)
        process->tell("make kernel");
    std::size_t makers = 0;
    std::size_t served = 0;
    while (!waiting.empty()) {
        WorkerProcess& speaker = WorkerProcess::first_to_speak(waiting);
        const std::string said = speaker.hear();
        if (said == "making") {
            ++makers;
            speaker.tell("cubin" + std::to_string(makers));
            continue;
        }
        served += said.starts_with("got ") && said.ends_with(" cubin1") ? 1 : 0;
        std::erase(waiting, &speaker);
    }
    EXPECT_EQ(makers, 1U);
    EXPECT_EQ(served, k_processes);
}

TEST_F(Processes, another_keys_hit_is_answered_while_a_process_makes)
{
    const auto busy = maker();
    const auto other = worker();
    EXPECT_EQ(other->ask("put ready here"), "stored");
    EXPECT_EQ(worker()->ask("find ready"), "hit disk here");
    EXPECT_EQ(other->ask("make quick"), "making");
    EXPECT_EQ(other->ask("done"), "got compiled done");
    EXPECT_EQ(busy->ask("late"), "got compiled late");
}

TEST_F(Processes, a_killed_holder_is_taken_over_from)
{
    const auto holder = maker();

    std::latch busy(1);
    Cache cache = open_patient(busy);
    std::atomic<bool> holder_is_dead{false};
    std::thread waiter([&] {
        const Result<Lookup> got = cache.get_or_compile(key_of("kernel"), [&] {
            EXPECT_TRUE(holder_is_dead) << "made while another process was at it";
            return "taken over";
        });
        EXPECT_EQ(text_of(got), "taken over");
    });
    busy.wait();
    holder_is_dead = true;
    holder->kill();
    waiter.join();
    EXPECT_EQ(worker()->ask("find kernel"), "hit disk taken over");
}

TEST_F(Processes, what_the_holder_stores_is_what_the_waiter_gets)
{
    const auto holder = maker();
    std::latch busy(1);
    Cache cache = open_patient(busy);
    std::thread waiter([&] {
        const Result<Lookup> got = cache.get_or_compile(key_of("kernel"), [] { return "never"; });
        EXPECT_EQ(text_of(got), "cubin");
        EXPECT_TRUE(got->waited());
    });
    busy.wait();
    EXPECT_EQ(holder->ask("cubin"), "got compiled cubin");
    waiter.join();
    EXPECT_EQ(cache.stats().compiles, 0U);
    EXPECT_EQ(cache.stats().waited, 1U);
}

TEST_F(Processes, the_wait_for_another_process_is_bounded)
{
    const auto holder = maker();
    // The holder lives and does not finish: it is not waited for any longer.
    const auto hasty = maker(1ms);
    EXPECT_EQ(hasty->ask("mine"), "got compiled mine");
    EXPECT_EQ(holder->ask("late"), "got compiled late") << "its caller gets what it made";
    EXPECT_EQ(worker()->ask("find kernel"), "hit disk late");
}

TEST_F(Processes, statistics_are_read_and_reset_from_another_process)
{
    const auto one = worker();
    const auto other = worker();
    EXPECT_EQ(one->ask("put kernel cubin"), "stored");
    EXPECT_EQ(one->ask("find_many kernel 10"), "hits 10");
    EXPECT_EQ(one->ask("find_many missing 4"), "hits 0");
    EXPECT_EQ(one->ask("flush"), "done");
    EXPECT_EQ(other->ask("stats"), "10 4 1 0");
    EXPECT_EQ(other->ask("find_many kernel 5"), "hits 5");
    EXPECT_EQ(other->ask("stats"), "15 4 1 0");
    EXPECT_EQ(other->ask("reset"), "done");
    EXPECT_EQ(one->ask("stats"), "0 0 0 0");
    EXPECT_EQ(one->ask("find_many kernel 2"), "hits 2");
    EXPECT_EQ(one->finish(), 0);
    EXPECT_EQ(other->ask("stats"), "2 0 0 0") << "a process writes what it counted when it ends";
}

TEST_F(Processes, statistics_of_eight_processes_add_up)
{
    constexpr int k_processes = 8;
    constexpr int k_times = 200;  // fewer than a use counter in memory saturates at
    std::vector<std::unique_ptr<WorkerProcess>> workers;
    for (int i = 0; i < k_processes; ++i)
        workers.push_back(worker());
    EXPECT_EQ(workers[0]->ask("put kernel cubin"), "stored");
    for (const auto& process : workers)
        process->tell("find_many kernel " + std::to_string(k_times));
    for (const auto& process : workers)
        EXPECT_EQ(process->hear(), "hits " + std::to_string(k_times));
    // One after the other: a process that cannot write its counts soon keeps them for the next time.
    for (const auto& process : workers)
        EXPECT_EQ(process->ask("flush"), "done");
    EXPECT_EQ(workers[3]->ask("stats"), std::to_string(k_processes * k_times) + " 0 1 0");
    workers.clear();
    Cache cache = open_usual();
    EXPECT_EQ(cache.stats(Scope::directory).hits, static_cast<std::uint64_t>(k_processes * k_times));
    EXPECT_EQ(admin::info(cache, key_of("kernel"))->uses, static_cast<std::uint32_t>(k_processes * k_times));
}

}  // namespace

}  // namespace hearth::test
