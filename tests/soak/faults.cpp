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
Undo limit_worker(Stage& stage, Random& random, __rlimit_resource resource, rlim_t most)
{
    const WorkerProcess& worker = stage.workers[random() % k_workers];
    rlimit before{};
    if (::prlimit(worker.pid, resource, nullptr, &before) != 0)
        return {};
    const rlimit limited{random() % most, before.rlim_max};
    ::prlimit(worker.pid, resource, &limited, nullptr);
    return [&worker, pid = worker.pid, resource, before] {
        if (worker.pid == pid)
            ::prlimit(pid, resource, &before, nullptr);
    };
}

Undo limit_files(Stage& stage, Random& random)
{
    return limit_worker(stage, random, RLIMIT_FSIZE, 8192);
}

Undo limit_descriptors(Stage& stage, Random& random)
{
    return limit_worker(stage, random, RLIMIT_NOFILE, 40);
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

Undo damage_entries(Stage& stage, Random& random)
{
    return damage_some(stage.directory + "/v1/entries", random);
}

Undo damage_index(Stage& stage, Random& random)
{
    damage(stage.directory + "/v1/index", stage.directory + "/v1/notes", random);
    return {};
}

// The index, notes, locks, what processes tell each other about servers, and entries.
Undo damage_anything(Stage& stage, Random& random)
{
    return damage_some(stage.directory, random);
}

// Servers

template <class Server>
Undo pause_server(const std::unique_ptr<Server>& server)
{
    server->process().signal(SIGSTOP);
    return [&server] { server->process().signal(SIGCONT); };
}

// Its start waits until it answers; one that does not is seen to by keep_servers_running().
void start_again(test::RedisServer& server)
{
    try {
        server.start();
    } catch (const std::runtime_error& problem) {
        fmt::print("{}\n", problem.what());
    }
}
template <class Server>
void start_again(Server& server)
{
    server.start_again();
}

template <class Server>
Undo kill_server(const std::unique_ptr<Server>& server)
{
    server->process().kill();
    return [&server] { start_again(*server); };
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

bool has_disk(const Stage& stage)
{
    return !stage.small_disk.empty();
}
bool has_redis(const Stage& stage)
{
    return stage.redis != nullptr;
}
bool has_nginx(const Stage& stage)
{
    return stage.nginx != nullptr;
}
bool has_s3(const Stage& stage)
{
    return stage.s3 != nullptr;
}

Undo damage_redis(Stage& stage, Random& random)
{
    const std::uint16_t port = stage.redis->port();
    for (int i = 0; i < 4; ++i)
        if (const std::string key = test::redis_cli(port, {"RANDOMKEY"}); !key.empty())
            test::redis_cli(port, {"SETRANGE", key, std::to_string(random() % 3000), "damaged"});
    return {};
}

Undo damage_nginx(Stage& stage, Random& random)
{
    return damage_some(stage.nginx->files(), random);
}

constexpr std::array k_faults{
    Fault{"worker killed", "worker", 60, kill_worker},
    Fault{"all workers but one killed", "worker", 6, kill_workers},
    Fault{"worker paused", "worker", 20, pause_worker},
    Fault{"worker's files limited in size", "file size", 20, limit_files},
    Fault{"worker out of descriptors", "descriptors", 20, limit_descriptors},
    Fault{"limits lowered", "limits", 20, lower_limits},
    Fault{"clock jumped", "clock", 20, jump_clock},
    Fault{"disk full", "disk", 20, fill_disk, has_disk},
    Fault{"directory removed", "directory", 8, remove_directory},
    Fault{"entries damaged", "directory", 60, damage_entries},
    Fault{"index damaged", "directory", 20, damage_index},
    Fault{"any files of the directory damaged", "directory", 20, damage_anything},
    Fault{"redis-server killed", "redis", 8, [](Stage& s, Random&) { return kill_server(s.redis); }, has_redis},
    Fault{"redis-server paused", "redis", 8, [](Stage& s, Random&) { return pause_server(s.redis); }, has_redis},
    Fault{"values in redis-server damaged", "redis", 20, damage_redis, has_redis},
    Fault{"nginx killed", "nginx", 8, [](Stage& s, Random&) { return kill_server(s.nginx); }, has_nginx},
    Fault{"nginx paused", "nginx", 8, [](Stage& s, Random&) { return pause_server(s.nginx); }, has_nginx},
    Fault{"files of nginx damaged", "nginx", 20, damage_nginx, has_nginx},
    Fault{"S3 server killed", "s3", 6, [](Stage& s, Random&) { return kill_server(s.s3); }, has_s3},
    Fault{"S3 server paused", "s3", 6, [](Stage& s, Random&) { return pause_server(s.s3); }, has_s3},
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
