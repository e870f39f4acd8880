#include "faults.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <sys/resource.h>
#include <sys/wait.h>

namespace hearth::soak {

namespace {

namespace fs = std::filesystem;

// Workers

// The first worker is never killed: it shows what a long life does to a process.
Undo kill_worker(Stage& stage, Random& random)
{
    WorkerProcess& worker = stage.workers[1 + random() % (k_workers - 1)];
    worker.killed = true;
    ::kill(worker.pid, SIGKILL);
    return {};
}

Undo kill_workers(Stage& stage, Random&)
{
    for (std::size_t i = 1; i < k_workers; ++i) {
        stage.workers[i].killed = true;
        ::kill(stage.workers[i].pid, SIGKILL);
    }
    return {};
}

// It may hold any lock.
Undo pause_worker(Stage& stage, Random& random)
{
    const WorkerProcess& worker = stage.workers[random() % k_workers];
    ::kill(worker.pid, SIGSTOP);
    return [&worker, pid = worker.pid] {
        if (worker.pid == pid)
            ::kill(pid, SIGCONT);
    };
}

// A limit of one process that others may set.
template <__rlimit_resource resource, rlim_t most>
Undo limit_worker(Stage& stage, Random& random)
{
    const WorkerProcess& worker = stage.workers[random() % k_workers];
    rlimit before{};
    if (::prlimit(worker.pid, resource, nullptr, &before) != 0)
        return {};
    const rlimit limited{random() % most, before.rlim_max};
    ::prlimit(worker.pid, resource, &limited, nullptr);
    return [&worker, pid = worker.pid, before] {
        if (worker.pid == pid)
            ::prlimit(pid, resource, &before, nullptr);
    };
}

Undo lower_limits(Stage& stage, Random& random)
{
    stage.shared.squeeze = std::uint32_t{2} << (random() % 9);
    return [&stage] { stage.shared.squeeze = 1; };
}

Undo jump_clock(Stage& stage, Random& random)
{
    constexpr std::array<std::int64_t, 5> k_jumps{10, 3700, 86'400, 40'000'000, 2'000'000'000};
    const std::int64_t jump = k_jumps[random() % k_jumps.size()];
    stage.shared.clock_offset = random() % 2 == 0 ? jump : -jump;
    return [&stage] { stage.shared.clock_offset = 0; };
}

// The directory

Undo fill_disk(Stage& stage, Random& random)
{
    const std::string path = stage.small_disk + "/ballast";
    {
        std::ofstream ballast(path, std::ios::binary);
        const std::string block(65536, 'x');
        while (ballast.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
        }
    }
    std::error_code ignored;
    if (random() % 2 == 0)  // sometimes a little is left
        fs::resize_file(path, fs::file_size(path, ignored) / 65536 * 65536 - random() % 32768, ignored);
    return [path] { ::unlink(path.c_str()); };
}

// At once, or file by file while others write.
Undo remove_directory(Stage& stage, Random& random)
{
    std::error_code ignored;
    std::string doomed = stage.directory;
    if (random() % 2 == 0) {
        doomed += ".gone";
        fs::rename(stage.directory, doomed, ignored);
    }
    fs::remove_all(doomed, ignored);
    return {};
}

// Some file below a folder that others change meanwhile.
std::optional<std::string> any_file(const std::string& folder, Random& random)
{
    std::optional<std::string> chosen;
    std::uint64_t seen = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        if (std::error_code gone; at->is_regular_file(gone) && random() % ++seen == 0)
            chosen = at->path().string();
    return chosen;
}

// In place, while others read it.
void damage(const std::string& path, const std::string& folder, Random& random)
{
    std::error_code gone;
    const std::uint64_t size = fs::file_size(path, gone);
    if (gone || size == 0)
        return;
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    switch (random() % 5) {
    case 0:  // one bit
    {
        const auto at = static_cast<std::streamoff>(random() % size);
        file.seekg(at);
        const auto byte = static_cast<char>(file.get() ^ (1 << (random() % 8)));
        file.seekp(at);
        file.put(byte);
        break;
    }
    case 1:  // a block that was never written
        file.seekp(static_cast<std::streamoff>(random() % size));
        file << std::string(random() % 4096, '\0');
        break;
    case 2:
        fs::resize_file(path, random() % size, gone);
        break;
    case 3:
        file.seekp(0, std::ios::end);
        file << std::string(1 + random() % 4096, 'x');
        break;
    default:  // a whole entry under another's name
        if (const std::optional<std::string> other = any_file(folder, random)) {
            std::ifstream from(*other, std::ios::binary);
            file << from.rdbuf();
            fs::resize_file(path, fs::file_size(*other, gone), gone);
        }
    }
}

Undo damage_some(const std::string& folder, Random& random)
{
    for (std::uint64_t i = random() % 8; i < 8; ++i)
        if (const std::optional<std::string> file = any_file(folder, random))
            damage(*file, folder, random);
    return {};
}

Undo damage_index(Stage& stage, Random& random)
{
    damage(stage.directory + "/v1/index", stage.directory + "/v1/notes", random);
    return {};
}

// Servers

// One that does not start is seen to by keep_servers_running().
template <class Server>
void start_again(Server& server)
{
    try {
        server.start_again();
    } catch (const std::runtime_error& problem) {
        fmt::print("{}\n", problem.what());
    }
}

template <auto server>
Undo pause_server(Stage& stage, Random&)
{
    (stage.*server)->process().signal(SIGSTOP);
    return [&stage] { (stage.*server)->process().signal(SIGCONT); };
}

template <auto server>
Undo kill_server(Stage& stage, Random&)
{
    (stage.*server)->process().kill();
    return [&stage] { start_again(*(stage.*server)); };
}

// One that has ended by itself found its port taken: while it was gone, a connection of a worker was given it.
template <class Server>
void keep_running(const std::unique_ptr<Server>& server)
{
    siginfo_t ended{};
    if (!server || !server->process().running() ||
        ::waitid(P_PID, static_cast<id_t>(server->process().pid()), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid == 0)
        return;
    server->process().kill();
    start_again(*server);
}

template <auto server>
bool has(const Stage& stage)
{
    return stage.*server != nullptr;
}

Undo damage_redis(Stage& stage, Random& random)
{
    const std::uint16_t port = stage.redis->port();
    for (int i = 0; i < 4; ++i)
        if (const std::string key = test::redis_cli(port, {"RANDOMKEY"}); !key.empty())
            test::redis_cli(port, {"SETRANGE", key, std::to_string(random() % 3000), "damaged"});
    return {};
}

constexpr std::array k_faults{
    Fault{"worker killed", "worker", 60, kill_worker},
    Fault{"all workers but one killed", "worker", 6, kill_workers},
    Fault{"worker paused", "worker", 20, pause_worker},
    Fault{"worker's files limited in size", "file size", 20, limit_worker<RLIMIT_FSIZE, 8192>},
    Fault{"worker out of descriptors", "descriptors", 20, limit_worker<RLIMIT_NOFILE, 40>},
    Fault{"limits lowered", "limits", 20, lower_limits},
    Fault{"clock jumped", "clock", 20, jump_clock},
    Fault{"disk full", "disk", 20, fill_disk, [](const Stage& s) { return !s.small_disk.empty(); }},
    Fault{"directory removed", "directory", 8, remove_directory},
    Fault{"entries damaged", "directory", 60,
          [](Stage& s, Random& r) { return damage_some(s.directory + "/v1/entries", r); }},
    Fault{"index damaged", "directory", 20, damage_index},
    // The index, notes, locks, what processes tell each other about servers, and entries.
    Fault{"any files of the directory damaged", "directory", 20,
          [](Stage& s, Random& r) { return damage_some(s.directory, r); }},
    Fault{"redis-server killed", "redis", 8, kill_server<&Stage::redis>, has<&Stage::redis>},
    Fault{"redis-server paused", "redis", 8, pause_server<&Stage::redis>, has<&Stage::redis>},
    Fault{"values in redis-server damaged", "redis", 20, damage_redis, has<&Stage::redis>},
    Fault{"nginx killed", "nginx", 8, kill_server<&Stage::nginx>, has<&Stage::nginx>},
    Fault{"nginx paused", "nginx", 8, pause_server<&Stage::nginx>, has<&Stage::nginx>},
    Fault{"files of nginx damaged", "nginx", 20, [](Stage& s, Random& r) { return damage_some(s.nginx->files(), r); },
          has<&Stage::nginx>},
    Fault{"S3 server killed", "s3", 6, kill_server<&Stage::s3>, has<&Stage::s3>},
    Fault{"S3 server paused", "s3", 6, pause_server<&Stage::s3>, has<&Stage::s3>},
};
static_assert(k_faults.size() <= k_most_faults);

}  // namespace

void keep_servers_running(const Stage& stage)
{
    keep_running(stage.redis);
    keep_running(stage.nginx);
    keep_running(stage.s3);
}

std::span<const Fault> all_faults()
{
    return k_faults;
}

}  // namespace hearth::soak
