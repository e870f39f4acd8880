// One make for many who ask at once: threads of one process, and processes of one machine.

#include "base/clock.hpp"
#include "benches.hpp"
#include "hearth/hearth.hpp"
#include "sample_entries.hpp"
#include "scratch.hpp"
#include "timing.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <fmt/format.h>
#include <thread>

namespace hearth::bench {

namespace {

constexpr double k_make_seconds = 0.5;

// Work that takes the processor, as a compile does.
Artifact busy_make(std::uint64_t seed)
{
    const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(k_make_seconds * 1e9);
    while (now_ns() < end)
        keep(numbered_key(seed));
    return assembly_artifact(64 << 10, seed);
}

Cache open_in(const std::string& directory)
{
    CacheOptions options;
    options.directory = directory;
    options.maintenance = Maintenance::by_hand;
    return Cache::open(options).value();
}

// Processes that all ask for the same entry: how long they took, and how many made it.
double processes(const std::string& directory, int count, int& makes)
{
    const ChildrenRun run = run_children(count, {"flight", directory});
    makes = static_cast<int>(std::count(run.statuses.begin(), run.statuses.end(), k_child_made));
    return run.seconds;
}

}  // namespace

int flight_child(const std::vector<std::string>& arguments)
{
    Cache cache = open_in(arguments.at(0));
    bool made = false;
    const Result<Lookup> got = cache.get_or_compile(numbered_key(7), [&] {
        made = true;
        return busy_make(7);
    });
    if (!got)
        return 1;
    return made ? k_child_made : 0;
}

void bench_flight(Report& report)
{
    const Scratch scratch;
    {
        Cache cache = open_in(scratch.path("threads"));
        std::atomic<int> makes{0};
        static constexpr int k_threads = 64;
        std::barrier ready(k_threads + 1);
        std::vector<std::thread> threads;
        for (int i = 0; i < k_threads; ++i)
            threads.emplace_back([&] {
                ready.arrive_and_wait();
                (void)cache.get_or_compile(numbered_key(1), [&] {
                    ++makes;
                    return busy_make(1);
                });
            });
        ready.arrive_and_wait();
        const std::uint64_t start = now_ns();
        for (std::thread& thread : threads)
            thread.join();
        report.add_beside("single_flight.64_threads", static_cast<double>(now_ns() - start) * 1e-6, "ms",
                          "the make alone", k_make_seconds * 1e3, 1.2);
        report.add("single_flight.64_threads.compiles", makes, "compiles", 1);
    }
    int makes = 0;
    const double alone = processes(scratch.path("alone"), 1, makes);
    const double all = processes(scratch.path("all"), 16, makes);
    report.add_beside("single_flight.16_processes", all * 1e3, "ms", "one process alone", alone * 1e3, 1.2);
    report.add("single_flight.16_processes.compiles", makes, "compiles", 1);
}

}  // namespace hearth::bench
