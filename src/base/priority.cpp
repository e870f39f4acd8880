#include "base/priority.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hearth::base {

void step_back(Waited waited)
{
    // Both calls are for one thread; 0 is the calling thread.
    static constexpr int k_io_of_thread = 1;
    static constexpr int k_io_idle = 3 << 13;
    [[maybe_unused]] const int processor = ::setpriority(PRIO_PROCESS, 0, waited == Waited::never ? 19 : 10);
    [[maybe_unused]] const long disk = ::syscall(SYS_ioprio_set, k_io_of_thread, 0, k_io_idle);
}

}  // namespace hearth::base
