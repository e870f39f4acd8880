#pragma once

#include "shared.hpp"
#include "support/nginx_server.hpp"
#include "support/redis_server.hpp"
#include "support/s3_server.hpp"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

// What goes wrong in a soak, and what came of it.

namespace hearth::soak {

struct WorkerProcess {
    pid_t pid = 0;
    bool killed = false;  // by a fault: that it ended is no failure
};

// Everything that faults are done to.
struct Stage {
    Shared& shared;
    std::string directory;   // the cache's
    std::string small_disk;  // the file system that it is on; empty: it has none of its own
    std::array<WorkerProcess, k_workers> workers{};
    std::unique_ptr<test::RedisServer> redis{};
    std::unique_ptr<test::NginxServer> nginx{};
    std::unique_ptr<test::S3Server> s3{};
};

using Undo = std::function<void()>;  // empty: there is nothing to undo

struct Fault {
    std::string_view name;
    std::string_view subject;  // two faults with the same subject are not there at the same time
    std::uint64_t weight;
    Undo (*inject)(Stage& stage, Random& random);
    bool (*possible)(const Stage& stage) = [](const Stage&) { return true; };
};

std::span<const Fault> all_faults();

void keep_servers_running(const Stage& stage);

}  // namespace hearth::soak
