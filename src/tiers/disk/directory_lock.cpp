#include "tiers/disk/directory_lock.hpp"

#include "base/slow_mutex.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <thread>

namespace hearth::tiers {

DirectoryLock::DirectoryLock(base::Files& files, base::At at, unsigned mode, std::chrono::milliseconds patience)
{
    open(files, at, mode);
    if (!m_file.open()) {
        m_error = m_file.fd();
        return;
    }
    const auto give_up = std::chrono::steady_clock::now() + patience;
    auto pause = std::chrono::microseconds(20);
    for (;;) {
        m_error = files.try_lock(m_file.fd());
        if (m_error != -EWOULDBLOCK && m_error != -EINTR)
            return;
        if (std::chrono::steady_clock::now() >= give_up)
            return;
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(2000));
    }
}

void DirectoryLock::open(base::Files& files, base::At at, unsigned mode)
{
    for (;;) {
        const std::uint64_t before = base::forks_begun_and_ended();
        m_file = base::FileHandle(files, base::open_or_create(files, at, O_RDWR, mode));
        if (before % 2 == 0 && base::forks_begun_and_ended() == before)
            return;
        // A child forked just now would hold our lock through a copy of the descriptor: so not that one.
        m_file.close();
        std::this_thread::yield();
    }
}

}  // namespace hearth::tiers
