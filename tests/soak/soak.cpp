// Everything at once, for HEARTH_SOAK_MINUTES: worker processes over every tier, while whatever can go wrong does. No
// answer may be wrong, no compile may be refused, no process may crash or hang. docs/reliability.md.
//
//   hearth_soak                      supervises; HEARTH_SEED repeats the choice of faults
//   hearth_soak --worker PLACES...   is one of its workers

#include "faults.hpp"
#include "hearth/hearth.hpp"
#include "support/isolated_environment.hpp"
#include "support/peak_memory.hpp"
#include "support/process.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <numeric>
#include <optional>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <thread>

namespace hearth::soak {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Time = std::chrono::steady_clock;

constexpr std::uint64_t k_small_disk_bytes = 64_MiB;
constexpr auto k_tick = 20ms;
constexpr auto k_hang = 60s;          // without progress, while nothing is wrong
constexpr auto k_hang_anyway = 240s;  // without progress, whatever is wrong
constexpr std::size_t k_faults_at_once = 3;

void say(const std::string& line)
{
    fmt::print("{}\n", line);
    std::fflush(stdout);
}

// A file system of a few MiB that nobody else sees, where we may have one.
class SmallDisk {
public:
    explicit SmallDisk(const std::string& folder) : m_folder(folder)
    {
        fs::create_directory(folder);
        m_mounted =
            ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            ::mount("tmpfs", folder.c_str(), "tmpfs", 0, fmt::format("size={}", k_small_disk_bytes).c_str()) == 0;
        if (!m_mounted)
            say("No disk is filled: mounting a small one takes root.");
    }
    ~SmallDisk()
    {
        if (m_mounted)
            ::umount2(m_folder.c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    bool mounted() const { return m_mounted; }

private:
    std::string m_folder;
    bool m_mounted = false;
};

void write_bundle(const std::string& path, const std::string& directory)
{
    Cache cache = Cache::open({.tiers = {disk(directory)}, .maintenance = Maintenance::by_hand}).value();
    for (std::uint64_t number = 0; number < k_in_bundle; ++number)
        cache.insert(key_of(number), artifact_of(number)).value();
    bundles::create(path, cache).value();
}

template <std::size_t n>
std::uint64_t sum_of(const std::array<Count, n>& counts)
{
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::string row(std::string_view name, std::uint64_t count)
{
    return fmt::format("  {:<48} {:>12}\n", name, count);
}

// All counts, a line each.
std::string counts_of(const Shared& shared)
{
    std::string text = "Operations\n";
    for (std::size_t i = 0; i < operation_count(); ++i)
        text += row(operation_name(i), shared.operations[i]);
    text += row("in all", sum_of(shared.operations)) + "Answers\n";
    for (std::size_t i = 0; i < k_tiers.size(); ++i)
        text += row(fmt::format("hits in tier {}", k_tiers[i]), shared.hits[i]);
    text += row("compiled", shared.compiled) + row("waited for another's compile", shared.waited);
    for (std::size_t i = 0; i < k_miss_reasons; ++i)
        text += row(fmt::format("lookups without a hit: {}", to_string(static_cast<Miss>(i))), shared.misses[i]);
    text += row("bytes compared", shared.checked_bytes) + "Errors\n";
    for (std::size_t i = 0; i < operation_count(); ++i)
        for (std::size_t code = 0; code < k_codes.size(); ++code)
            if (const std::uint64_t count = shared.errors[i][code]; count != 0)
                text += row(fmt::format("{}: {}", operation_name(i), k_codes[code]), count);
    text += "Faults\n";
    const std::span<const Fault> faults = all_faults();
    for (std::size_t i = 0; i < faults.size(); ++i)
        text += row(faults[i].name, shared.faults[i]);
    text += row("in all", sum_of(shared.faults)) + "Outcome\n";
    text += row("processes started", shared.starts) + row("caches opened", shared.opened);
    text += row("children forked", shared.forked_children) + row("damaged entries met", shared.corrupt);
    text += row("entries evicted", shared.evictions) + row("entries demoted", shared.demotions);
    text += row("hangs", shared.hangs) + row("wrong answers, crashes and hangs", shared.wrong);
    return text;
}

class Supervisor {
public:
    Supervisor(std::uint64_t seed, std::chrono::seconds length)
        : m_seed(seed), m_fault_choice(seed), m_worker_seeds(seed + 1), m_length(length),
          m_small_disk(m_scratch / "disk"),
          m_file(m_scratch / "shared", SharedFile::Role::supervisor), m_stage{*m_file, m_scratch / "disk/cache", {}}
    {
        if (m_small_disk.mounted())
            m_stage.small_disk = m_scratch / "disk";
        m_places = {
            m_scratch / "shared", m_stage.directory, m_scratch / "kernels.bundle", m_scratch / "files", "-", "-", "-"};
        fs::create_directory(m_places.scratch);
        write_bundle(m_places.bundle, m_scratch / "bundled");
        start_servers();
    }

    int run()
    {
        const Time::time_point begin = Time::now();
        const Time::time_point end = begin + m_length;
        m_next_fault = begin + 500ms;
        Time::time_point next_line = begin + 60s;
        for (std::size_t i = 0; i < k_workers; ++i)
            start(i);
        while (Time::now() < end && m_stage.shared.wrong == 0) {
            std::this_thread::sleep_for(k_tick);
            reap();
            undo_faults(Time::now());
            keep_servers_running(m_stage);
            if (m_stage.shared.wrong == 0 &&
                Time::now() >= m_next_fault)  // a worker that crashed has no process any more
                inject();
            find_hangs();
            if (Time::now() >= next_line) {
                next_line += 60s;
                say_progress(begin);
            }
        }
        const std::string survivor = describe_survivor();
        undo_faults(Time::time_point::max());
        stop();
        if (m_stage.shared.wrong == 0)
            inspect();
        const auto ran = std::chrono::duration_cast<std::chrono::seconds>(Time::now() - begin);
        say(fmt::format("Ran for {} s with seed {}; at the end {}.", ran.count(), m_seed, survivor));
        say(counts_of(m_stage.shared));
        say(m_stage.shared.wrong == 0 ? "Passed."
                                      : fmt::format("FAILED (seed {}): {}", m_seed, m_stage.shared.sentence.data()));
        return m_stage.shared.wrong == 0 ? 0 : 1;
    }

private:
    struct Active {
        std::string_view subject;
        Time::time_point until;
        Undo undo;
    };
    struct Progress {
        std::uint64_t steps = 0;
        Time::duration calm{0};    // since the last step, while nothing was wrong
        Time::duration in_all{0};  // since the last step
    };

    // A busy machine may be too slow to start one in time: the others are soaked then.
    template <class Server>
    static std::unique_ptr<Server> started()
    {
        try {
            return Server::start();
        } catch (const std::runtime_error& problem) {
            say(problem.what());
            return nullptr;
        }
    }

    void start_servers()
    {
        if (test::has_redis()) {
            m_stage.redis = std::make_unique<test::RedisServer>();
            m_places.redis = fmt::format("redis://127.0.0.1:{}", m_stage.redis->port());
        }
        m_stage.nginx = started<test::NginxServer>();
        if (m_stage.nginx)
            m_places.http = "http://" + m_stage.nginx->address() + "/soak";
        m_stage.s3 = started<test::S3Server>();
        if (m_stage.s3)
            m_places.s3 = fmt::format("s3://{}/soak?endpoint={}&region=us-east-1", test::S3Server::k_bucket,
                                      m_stage.s3->endpoint());
        say(fmt::format("Servers: {} {} {}", m_places.redis, m_places.http, m_places.s3));
    }

    void start(std::size_t worker)
    {
        std::vector<std::string> words({"/proc/self/exe", "--worker", m_places.shared, m_places.directory,
                                        m_places.bundle, m_places.scratch, m_places.redis, m_places.http, m_places.s3,
                                        std::to_string(worker), std::to_string(m_worker_seeds())});
        std::vector<char*> arguments;
        for (std::string& word : words)
            arguments.push_back(word.data());
        arguments.push_back(nullptr);
        pid_t pid = -1;
        if (::posix_spawn(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0)
            throw std::runtime_error("a worker cannot be started");
        m_stage.workers[worker] = {pid, false};
        m_progress[worker] = {};
    }

    std::string what_it_did(std::size_t worker) const
    {
        std::string text;
        for (const Doing& doing : m_stage.shared.doing[worker])
            text += fmt::format("{}{} of kernel {}", text.empty() ? "" : "; ", operation_name(doing.operation),
                                doing.number.load());
        return text;
    }

    // Whatever ends a worker is a failure, unless a fault has killed it or it has said what is wrong itself.
    void check_end(std::size_t worker, int status)
    {
        if (!m_stage.workers[worker].killed && !(WIFEXITED(status) && WEXITSTATUS(status) == k_exit_wrong))
            m_stage.shared.fail(fmt::format("Worker {} ended with wait status {:#x}. Its threads did: {}.", worker,
                                            status, what_it_did(worker)));
    }

    // Starts anew what has ended.
    void reap()
    {
        for (std::size_t i = 0; i < k_workers; ++i) {
            WorkerProcess& worker = m_stage.workers[i];
            int status = 0;
            if (::waitpid(worker.pid, &status, WNOHANG) != worker.pid)
                continue;
            check_end(i, status);
            worker.pid = 0;
            if (m_stage.shared.wrong == 0)
                start(i);
        }
    }

    void undo_faults(Time::time_point now)
    {
        for (std::size_t i = m_active.size(); i-- > 0;)
            if (m_active[i].until <= now) {
                m_active[i].undo();
                m_active.erase(m_active.begin() + static_cast<std::ptrdiff_t>(i));
            }
    }

    void inject()
    {
        // One engine for each, so that what a fault finds does not change the choice of those that follow.
        Random random(m_fault_choice());
        m_next_fault = Time::now() + std::chrono::milliseconds(200 + random() % 2000);
        const std::chrono::milliseconds lasts(200 + random() % 4000);
        const std::span<const Fault> faults = all_faults();
        const std::size_t chosen = any_of(faults, random);
        const Fault& fault = faults[chosen];
        const bool there = std::any_of(m_active.begin(), m_active.end(),
                                       [&](const Active& active) { return active.subject == fault.subject; });
        if (there || m_active.size() >= k_faults_at_once || !fault.possible(m_stage))
            return;
        ++m_stage.shared.faults[chosen];
        if (Undo undo = fault.inject(m_stage, random))
            m_active.push_back({fault.subject, Time::now() + lasts, std::move(undo)});
    }

    void find_hangs()
    {
        const Time::time_point now = Time::now();
        const Time::duration passed = now - m_looked;
        m_looked = now;
        for (std::size_t i = 0; i < k_workers; ++i) {
            std::uint64_t steps = 0;
            for (const Doing& doing : m_stage.shared.doing[i])
                steps += doing.steps;
            Progress& progress = m_progress[i];
            if (steps != progress.steps)
                progress = {steps};
            progress.in_all += passed;
            if (m_active.empty())
                progress.calm += passed;
            if (progress.calm >= k_hang || progress.in_all >= k_hang_anyway)
                hung(i);
        }
    }

    // Kills it, with the stacks of all its threads and of children that it forked in the log.
    void hung(std::size_t worker)
    {
        ++m_stage.shared.hangs;
        const pid_t pid = m_stage.workers[worker].pid;
        m_stage.shared.fail(
            fmt::format("Worker {} makes no progress. Its threads do: {}.", worker, what_it_did(worker)));
        std::vector<std::string> pids{std::to_string(pid)};
        std::error_code gone;
        for (const auto& thread : fs::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
            std::ifstream children(thread.path() / "children");
            for (std::string child; children >> child;)
                pids.push_back(child);
        }
        for (const std::string& each : pids)
            say(test::has_command("gdb")
                    ? test::run_process({"/usr/bin/gdb", "-p", each, "-batch", "-ex", "thread apply all bt"}).out
                    : "There is no gdb to show the stacks of process " + each + ".");
        m_stage.workers[worker].killed = true;
        ::kill(pid, SIGKILL);
    }

    // Workers end by themselves; one that does not is a hang.
    void stop()
    {
        m_stage.shared.stop = true;
        const Time::time_point end = Time::now() + k_hang;
        for (std::size_t i = 0; i < k_workers; ++i) {
            WorkerProcess& worker = m_stage.workers[i];
            int status = 0;
            while (worker.pid != 0 && ::waitpid(worker.pid, &status, WNOHANG) == 0) {
                if (Time::now() >= end && !worker.killed)
                    hung(i);
                std::this_thread::sleep_for(k_tick);
            }
            if (worker.pid != 0 && status != 0)
                check_end(i, status);
            worker.pid = 0;
        }
    }

    // After everything that was done to it, the directory can be put in order, and then it is.
    void inspect()
    {
        Cache cache =
            Cache::open({.tiers = {disk(m_stage.directory, k_disk_bytes)}, .maintenance = Maintenance::by_hand})
                .value();
        const VerifyReport repaired = admin::verify(cache, Repair::yes);
        const VerifyReport after = admin::verify(cache, Repair::no);
        say(fmt::format("At the end {} entries lay on the disk, {} of them damaged; after repair {} and {}.",
                        repaired.checked, repaired.corrupt, after.checked, after.corrupt));
        if (after.corrupt != 0 || !after.accounting_exact)
            m_stage.shared.fail(fmt::format("The directory could not be repaired: {}.", after.problems.empty()
                                                                                            ? "its accounting is wrong"
                                                                                            : after.problems.front()));
    }

    std::string describe_survivor() const
    {
        const std::string process = std::to_string(m_stage.workers[0].pid);
        std::error_code gone;
        std::size_t descriptors = 0;
        for (fs::directory_iterator at("/proc/" + process + "/fd", gone), end; !gone && at != end; at.increment(gone))
            ++descriptors;
        return fmt::format("worker 0 has {} MiB, {} threads, {} descriptors", test::figure_of(process, "VmRSS:") / 1024,
                           test::figure_of(process, "Threads:"), descriptors);
    }

    void say_progress(Time::time_point begin) const
    {
        say(fmt::format("After {} min: {} operations, {} faults; {}.",
                        std::chrono::duration_cast<std::chrono::minutes>(Time::now() - begin).count(),
                        sum_of(m_stage.shared.operations), sum_of(m_stage.shared.faults), describe_survivor()));
    }

    const std::uint64_t m_seed;
    Random m_fault_choice;
    Random m_worker_seeds;
    const std::chrono::seconds m_length;
    test::ScratchDirectory m_scratch;
    SmallDisk m_small_disk;
    SharedFile m_file;
    Stage m_stage;
    Places m_places;
    std::vector<Active> m_active;
    std::array<Progress, k_workers> m_progress{};
    Time::time_point m_next_fault{};
    Time::time_point m_looked = Time::now();
};

int supervise()
{
    const char* const minutes = std::getenv("HEARTH_SOAK_MINUTES");
    const char* const seed = std::getenv("HEARTH_SEED");
    const std::chrono::seconds length(static_cast<long>((minutes ? std::strtod(minutes, nullptr) : 5.0) * 60));
    const std::uint64_t first = seed ? std::strtoull(seed, nullptr, 10) : std::random_device{}();
    const test::IsolatedEnvironment environment;
    ::setenv("no_proxy", "*", 1);
    ::setenv("AWS_ACCESS_KEY_ID", test::S3Server::k_access_key, 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", test::S3Server::k_secret_key, 1);
    ::unsetenv("AWS_SESSION_TOKEN");
    say(fmt::format("Soaking for {} s with seed {} (HEARTH_SEED={} chooses the same faults).", length.count(), first,
                    first));
    return Supervisor(first, length).run();
}

}  // namespace

}  // namespace hearth::soak

int main(int count, char** words)
{
    using namespace hearth::soak;
    if (count == 11 && std::string_view(words[1]) == "--worker")
        return run_worker({words[2], words[3], words[4], words[5], words[6], words[7], words[8]},
                          std::strtoull(words[9], nullptr, 10), std::strtoull(words[10], nullptr, 10));
    try {
        return supervise();
    } catch (const std::exception& problem) {
        fmt::print(stderr, "The soak could not go on: {}\n", problem.what());
        return 2;
    }
}
