#include "hearth/ready.hpp"

#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace hearth {

namespace {

std::atomic<bool> g_ready{false};

// Named by `hearth run` for all processes of a run. The file is there once one of them, or `hearth ready`, has said so.
const char* ready_file()
{
    const char* const path = std::getenv("HEARTH_READY_FILE");
    return path != nullptr && path[0] == '/' ? path : nullptr;
}

}  // namespace

void ready()
{
    g_ready.store(true, std::memory_order_relaxed);
    const char* const path = ready_file();
    const int fd = path != nullptr ? ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600) : -1;
    if (fd >= 0)
        ::close(fd);
}

bool is_ready()
{
    if (g_ready.load(std::memory_order_relaxed))
        return true;
    const char* const path = ready_file();
    if (path == nullptr || ::access(path, F_OK) != 0)
        return false;
    g_ready.store(true, std::memory_order_relaxed);
    return true;
}

}  // namespace hearth
