#include "priority.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hearth::cli {

void step_back()
{
    static constexpr int k_io_process = 1;
    static constexpr int k_io_idle = 3 << 13;
    [[maybe_unused]] const int done = ::setpriority(PRIO_PROCESS, 0, 19);
    [[maybe_unused]] const long also = ::syscall(SYS_ioprio_set, k_io_process, 0, k_io_idle);
}

}  // namespace hearth::cli
