// A worker: a cache with every tier there is, and threads that do everything that can be done to it, over and over.
// Every answer is checked, to the last byte.

#include "worker_thread.hpp"

#include <algorithm>
#include <csignal>
#include <execinfo.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <thread>
#include <vector>

namespace hearth::soak {

namespace {

using namespace std::chrono_literals;

// The system's time, and as many seconds more as the supervisor says.
class JumpingClock final : public Clock {
public:
    explicit JumpingClock(const Shared& shared) : m_shared(shared) {}
    WallTime now() const override
    {
        return std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now()) +
               std::chrono::seconds(m_shared.clock_offset.load());
    }

private:
    const Shared& m_shared;
};

// Follows the limits that the supervisor wants.
void follow_limits(WorkerThread& thread, std::uint32_t& applied)
{
    const std::uint32_t wanted = thread.shared.squeeze.load();
    if (wanted == applied)
        return;
    applied = wanted;
    for (const auto& [tier, bytes] :
         {std::pair{"memory", k_memory_bytes}, {"vram", k_memory_bytes}, {"disk", k_disk_bytes}})
        thread.count(admin::set_limits(thread.cache, tier, {.max_bytes = bytes / wanted}));
}

RemoteOptions server(const Places& places, const std::string& url, std::chrono::milliseconds timeout)
{
    RemoteOptions options;
    options.url = url;
    options.connect_timeout = 100ms;
    options.timeout = timeout;
    options.write_timeout = 2000ms;
    options.exit_wait = 500ms;
    options.lease_time = 3000ms;
    options.state_directory = places.directory + "/remotes";
    return options;
}

// Another one every time: what a fleet has is not all of one kind.
CacheOptions any_options(const Places& places, const Clock& clock, Random& random)
{
    const auto any = [&](auto... values) {
        const std::array all{values...};
        return all[random() % all.size()];
    };
    CacheOptions options;
    DiskOptions on_disk{.directory = places.directory, .max_bytes = k_disk_bytes};
    on_disk.compression = any(0, 1, 3);
    on_disk.max_age = any(0s, 3600s);
    options.tiers = {memory(k_memory_bytes), vram({.backend = device::Backend::host, .max_bytes = k_memory_bytes}),
                     disk(on_disk), bundle(places.bundle)};
    // Whichever server is asked first has the most hits. Swift is slow: asked by everybody it would always be down.
    struct Server {
        std::string url;
        std::chrono::milliseconds timeout;
        std::uint64_t one_in;
    };
    std::vector<Server> servers{{places.redis, 300ms, 1}, {places.http, 300ms, 1}, {places.s3, 3000ms, 4}};
    std::shuffle(servers.begin(), servers.end(), random);
    for (const Server& one : servers)
        if (one.url != "-" && random() % one.one_in == 0)
            options.tiers.push_back(remote(server(places, one.url, one.timeout)));
    options.policy = any(0, 1) == 0 ? lru() : gdsf();
    options.promote_after = any(1U, 2U);
    options.max_parallel_compiles = any(0U, 2U);
    options.race_under = any(0ms, 50ms);
    options.flight_wait = 3000ms;
    options.failure_ttl = any(0ms, 5000ms);
    options.maintenance_interval = 500ms;
    options.log = [](LogLevel, std::string_view) {};
    options.clock = &clock;
    return options;
}

// One life of a cache: opened, used by all threads, closed.
void live(Shared& shared, const Places& places, std::size_t worker, std::uint64_t seed)
{
    Random random(seed);
    const JumpingClock clock(shared);
    Result<Cache> cache = Cache::open(any_options(places, clock, random));
    if (!cache.ok()) {
        shared.fail(
            fmt::format("Worker {} (seed {}) could not open its cache: {}", worker, seed, cache.error().message));
        ::_exit(k_exit_wrong);
    }
    ++shared.opened;
    const std::uint64_t steps = 50 + random() % 3000;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < k_threads; ++i)
        threads.emplace_back([&, i] {
            WorkerThread thread{shared, places, *cache, worker, i, seed, Random(seed + i)};
            std::uint32_t applied = 1;
            for (std::uint64_t at = 0; at < steps && !shared.stop; ++at) {
                if (i == 0)
                    follow_limits(thread, applied);
                step(thread, any_operation(thread));
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    const Stats stats = cache->stats();
    shared.corrupt += stats.corrupt();
    shared.evictions += stats.evictions();
    shared.demotions += stats.demotions();
}

// Where a crash happened, for the log; then it goes on as it would have.
void show_stack(int signal)
{
    std::array<void*, 64> frames{};
    ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), frames.size()), STDERR_FILENO);
    std::signal(signal, SIG_DFL);
    ::raise(signal);
}

}  // namespace

void WorkerThread::fail(std::string_view tier, const std::string& what) const
{
    shared.fail(fmt::format("Operation {} of kernel {} (key {}) in worker {}, "
                            "thread {} (seed {}), tier {}: {}.",
                            operation_name(operation), number, key_of(number).hex(), worker, thread, seed,
                            tier.empty() ? "none" : tier, what));
    ::_exit(k_exit_wrong);
}

void WorkerThread::check_bytes(std::string_view tier, std::string_view section, ByteView got, ByteView wanted) const
{
    if (got.size() != wanted.size())
        fail(tier, fmt::format("section \"{}\" has {} bytes and must have {}", section, got.size(), wanted.size()));
    const auto differ = std::mismatch(got.begin(), got.end(), wanted.begin());
    if (differ.first != got.end())
        fail(tier,
             fmt::format("section \"{}\" differs at byte {} of {}", section, differ.first - got.begin(), got.size()));
    shared.checked_bytes += got.size();
}

void WorkerThread::check(std::string_view tier, const Artifact& got) const
{
    if (fails(number)) {
        if (!got.failed() || got.text("log") != failure_of(number).log)
            fail(tier, "a compile that fails was answered with something else");
        return;
    }
    const Artifact wanted = artifact_of(number);
    if (got.failed() || got.sections.size() != wanted.sections.size())
        fail(tier, fmt::format("status {} with {} sections", got.status, got.sections.size()));
    for (std::size_t i = 0; i < wanted.sections.size(); ++i) {
        if (got.sections[i].name != wanted.sections[i].name)
            fail(tier, fmt::format("a section is called \"{}\"", got.sections[i].name));
        check_bytes(tier, wanted.sections[i].name, got.sections[i].data, wanted.sections[i].data);
    }
    if (got.metadata != wanted.metadata)
        fail(tier, fmt::format("its label is \"{}\"", got.metadata.label));
}

void WorkerThread::check(const Lookup& lookup) const
{
    if (!lookup) {
        ++shared.misses[static_cast<std::size_t>(lookup.why())];
        return;
    }
    check(lookup.tier(), *lookup);
    const auto tier = std::find(k_tiers.begin(), k_tiers.end(), lookup.tier());
    if (lookup.compiled())
        ++(lookup.waited() ? shared.waited : shared.compiled);
    else if (tier != k_tiers.end())
        ++shared.hits[static_cast<std::size_t>(tier - k_tiers.begin())];
    else
        fail(lookup.tier(), "there is no such tier");
}

void WorkerThread::check_got(const Result<Lookup>& got, bool has_deadline) const
{
    if (got.ok() && *got) {
        check(*got);
        return;
    }
    if (got.ok())
        fail("", "neither an answer nor an error");
    const Error& error = got.error();
    count(error);
    const Error wanted = failure_of(number);
    if (fails(number) && error.code == wanted.code && error.message == wanted.message && error.log == wanted.log)
        return;
    if (!has_deadline || error.code != Code::timeout)
        fail("", "no answer but an error: " + error.message);
}

int run_worker(const Places& places, std::size_t worker, std::uint64_t seed)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond RLIMIT_FSIZE is then an error, as on a full disk
    std::array<void*, 1> frame{};
    ::backtrace(frame.data(), 1);  // loads what it needs, which a crashed process cannot
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
        std::signal(signal, show_stack);
    const SharedFile file(places.shared, SharedFile::Role::worker);
    Shared& shared = *file;
    ++shared.starts;
    while (!shared.stop)
        live(shared, places, worker, seed++);
    return 0;
}

}  // namespace hearth::soak
