// One compile for many who ask at once: threads of one process, and processes of one machine.

#include "benches.hpp"
#include "hearth/hearth.hpp"
#include "sample_entries.hpp"
#include "scratch.hpp"
#include "timing.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <fmt/format.h>
#include <thread>

namespace hearth::bench {

namespace {

constexpr double k_compile_seconds = 0.3;
constexpr int k_tries = 7;

// So much work, however long it takes: those who wait for it must not slow it down.
Artifact compile(std::uint64_t rounds)
{
    do_work(rounds);
    return assembly_artifact(64 << 10, 1);
}

Cache open_in(const std::string& directory)
{
    CacheOptions options;
    options.directory = directory;
    options.maintenance = Maintenance::by_hand;
    return Cache::open(options).value();
}

// Threads that all ask for the same entry; how many compiles that took.
int threads_ask(const std::string& directory, int count, std::uint64_t rounds)
{
    Cache cache = open_in(directory);
    std::atomic<int> compiles{0};
    std::vector<std::jthread> threads;
    std::barrier ready(count);
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&] {
            ready.arrive_and_wait();
            (void)cache.get_or_compile(numbered_key(1), [&] {
                ++compiles;
                return compile(rounds);
            });
        });
    threads.clear();
    return compiles;
}

// The same with processes.
int processes_ask(const std::string& directory, int count, std::uint64_t rounds)
{
    const ChildrenRun run = run_children(count, {"flight", directory, std::to_string(rounds)});
    return static_cast<int>(std::count(run.statuses.begin(), run.statuses.end(), k_child_made));
}

// Many beside one, each try in a new directory. The most compiles that any try took are reported.
void row(Report& report, const Scratch& scratch, const std::string& name, int count, std::uint64_t rounds, auto&& ask)
{
    int tries = 0;
    int most = 0;
    const auto one_try = [&](int askers) {
        most = std::max(most, ask(scratch.path(fmt::format("{}-{}", name, tries++)), askers, rounds));
    };
    const Pair times = side_by_side(
        k_tries, [&] { one_try(count); }, [&] { one_try(1); });
    report.add_beside("single_flight." + name, times.first * 1e3, "ms", "one alone, the same work", times.second * 1e3);
    report.add(fmt::format("single_flight.{}.compiles", name), most, "compiles");
}

}  // namespace

int flight_child(const std::vector<std::string>& arguments)
{
    Cache cache = open_in(arguments.at(0));
    bool made = false;
    const Result<Lookup> got = cache.get_or_compile(numbered_key(7), [&] {
        made = true;
        return compile(std::strtoull(arguments.at(1).c_str(), nullptr, 10));
    });
    if (!got)
        return 1;
    return made ? k_child_made : 0;
}

void bench_flight(Report& report)
{
    const Scratch scratch;
    const std::uint64_t rounds = rounds_in(k_compile_seconds);
    row(report, scratch, "64_threads", 64, rounds, threads_ask);
    row(report, scratch, "16_processes", 16, rounds, processes_ask);
}

}  // namespace hearth::bench
