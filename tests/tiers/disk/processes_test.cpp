#include "disk_fixture.hpp"
#include "support/eventually.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"
#include "support/test_program.hpp"
#include "tiers/disk/directory_lock.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// 26 and 66: many processes on one directory, killed at any moment. Content is a function of the key, so every process
// knows what every hit must be. The workers are this program again, started with --worker.

namespace hearth::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t k_budget = 60'000;
constexpr std::size_t k_most_payload = 3000;
constexpr std::uint64_t k_largest_entry = k_most_payload + 500;
constexpr std::uint64_t k_keys = 100;

// What the workers have seen, in memory they share and that outlives a kill.
struct Counters {
    std::atomic<std::uint64_t> hits{0};
    std::atomic<std::uint64_t> stores{0};
    std::atomic<std::uint64_t> evictions{0};
};

Counters& shared_counters(const std::string& path)
{
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, sizeof(Counters)) != 0)
        std::abort();
    void* const memory = ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (memory == MAP_FAILED)
        std::abort();
    return *static_cast<Counters*>(memory);
}

std::atomic<bool> g_stop{false};

DiskOptions worker_options(const std::string& directory)
{
    return {.directory = directory, .max_bytes = k_budget, .compression = 0};
}

// Uses the cache until it is told to stop or killed. 0, or 3 when an answer was wrong.
int work(const std::string& directory, const std::string& counters_path, std::uint64_t first_seed)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::signal(SIGTERM, [](int) { g_stop = true; });
    Counters& counters = shared_counters(counters_path);
    std::mt19937_64 random(first_seed);
    const TierContext context{&base::system_clock(), {}, random() % 2 == 0 ? lru() : gdsf()};
    const auto tier =
        tiers::DiskTier::open(worker_options(directory), context, tiers::DiskEnvironment::system()).value();
    const auto wrong = [&](const Key& key) {
        std::fprintf(stderr, "worker with seed %llu: key %s was answered with other bytes\n",
                     static_cast<unsigned long long>(first_seed), key.hex().c_str());
        return 3;
    };
    while (!g_stop) {
        const Key key = numbered_key(random() % k_keys);
        const std::uint64_t dice = random() % 100;
        if (dice < 50) {
            const Found found = tier->find(key);
            if (found && !is_sample_of(*found.artifact, key, 2))
                return wrong(key);
            counters.hits += found ? 1 : 0;
        } else if (dice < 85) {
            const Result<Stored> report =
                store_in(*tier, key, sample_entry(key, random() % k_most_payload, random() % 2), Victims::keep);
            counters.stores += report.ok() ? 1 : 0;
            for (std::size_t i = 0; report.ok() && i < report->victims.size(); ++i) {
                const Victim& victim = report->victims[i];
                if (victim.entry && !is_sample_of(*victim.entry->artifact(), victim.key, 2))
                    return wrong(victim.key);
                ++counters.evictions;
            }
        } else if (dice < 92) {
            tier->remove(key);
        } else if (dice < 95) {
            tier->flush();
        } else if (dice < 97) {
            tier->maintain({});
        } else if (dice < 99) {
            tier->try_flight(key);
        } else {
            tier->update_note("stats", [](ByteView) { return Bytes::copy_of("statistics"); });
        }
    }
    return 0;
}

class ProcessesTest : public DiskTest {
protected:
    pid_t spawn(std::uint64_t worker_seed)
    {
        std::array<std::string, 5> words{"/proc/self/exe", "--worker", m_layout.directory(), m_counters_path,
                                         std::to_string(worker_seed)};
        std::array<char*, 6> arguments{};
        for (std::size_t i = 0; i < words.size(); ++i)
            arguments[i] = words[i].data();
        pid_t child = -1;
        EXPECT_EQ(::posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ), 0);
        return child;
    }

    // Ends a worker with this signal; how it ended.
    static int end(pid_t worker, int signal)
    {
        ::kill(worker, signal);
        int status = 0;
        EXPECT_EQ(::waitpid(worker, &status, 0), worker);
        return status;
    }

    // While nobody can publish or remove an entry: the budget holds, and what the index counts is what is there,
    // however those before us ended.
    void watch()
    {
        base::Files& files = base::system_files();
        const tiers::DirectoryLock lock(files, m_layout.lock().c_str(), 0600, 50ms);
        if (!lock.held())
            return;  // eight others want it too: next time
        ++m_looks;
        const TierUsage there = on_disk();
        ASSERT_LE(there.bytes, k_budget + k_largest_entry);
        tiers::Index index(files, m_layout.index(), m_environment.boot);
        const tiers::CacheDirectory directory(m_layout.directory(), false, m_environment);
        ASSERT_EQ(index.open([&](const Key& key) { return directory.stat_entry(key); }), 0);
        ASSERT_EQ(index.totals(), (tiers::IndexTotals{there.bytes, there.entries}));
    }

    const std::string m_counters_path = m_scratch / "counters";
    std::uint64_t m_looks = 0;
};

}  // namespace

TEST_F(ProcessesTest, eight_processes_killed_at_random_are_exact_or_miss_and_leave_nothing_behind)
{
    std::mt19937_64 random(seed());
    const Counters& counters = shared_counters(m_counters_path);
    put(*open(worker_options(m_layout.directory())), 0, 100);  // so that there is a directory to watch
    std::array<pid_t, 8> workers{};
    for (pid_t& worker : workers)
        worker = spawn(random());

    const std::uint64_t rounds = scaled(200);
    for (std::uint64_t round = 0; round < rounds && !HasFatalFailure(); ++round) {
        // In the thick of it: whoever looks on holds the others up, so that comes after the kill.
        const std::uint64_t until = counters.stores + random() % 40;
        ASSERT_TRUE(eventually("they have stored more", [&] { return counters.stores >= until; }));
        pid_t& victim = workers[random() % workers.size()];
        const int status = end(victim, SIGKILL);
        ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself: " << status;
        watch();
        victim = spawn(random());
    }
    // The last ones get some work done before they are asked to stop, and the watcher gets its look between them.
    const std::uint64_t enough = counters.hits + 20;
    ASSERT_TRUE(eventually("they have found more, and are looked at", [&] {
        watch();
        return HasFailure() || (counters.hits >= enough && m_looks > 0);
    }));
    for (const pid_t worker : workers) {
        const int status = end(worker, SIGTERM);
        EXPECT_TRUE(WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGTERM) << status;
    }
    EXPECT_GT(counters.stores, 0U);
    EXPECT_GT(counters.evictions, 0U);

    follow_the_machine();
    m_clock.advance(2min);
    const auto tier = open(worker_options(m_layout.directory()));
    expect_exact_accounting(*tier);
    tier->maintain({});
    EXPECT_TRUE(files_in(m_layout.temporaries()).empty());
    EXPECT_TRUE(files_in(m_layout.flights()).empty());
    expect_exact_accounting(*tier);
    EXPECT_LE(tier->usage().bytes, k_budget);
    const VerifyReport report = tier->verify(Repair::no, {});
    EXPECT_EQ(report.intact, report.checked) << "a kill leaves no half entry in its place";
    EXPECT_EQ(report.stray, 0U);
    for (std::uint64_t number = 0; number < k_keys; ++number)
        holds(*tier, number);
}

}  // namespace hearth::test

int main(int argc, char** argv)
{
    // Without what happens at exit: a sanitizer's search for leaks would take longer than the test.
    if (argc == 5 && std::strcmp(argv[1], "--worker") == 0)
        std::_Exit(hearth::test::work(argv[2], argv[3], std::strtoull(argv[4], nullptr, 10)));
    return hearth::test::run_tests(argc, argv);
}
