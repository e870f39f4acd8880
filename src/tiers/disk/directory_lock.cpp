#include "tiers/disk/directory_lock.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <thread>

namespace hearth::tiers {

DirectoryLock::DirectoryLock(base::Files& files, const std::string& path, unsigned mode,
                             std::chrono::milliseconds patience)
    : m_file(files, files.open(path.c_str(), O_RDWR | O_CREAT, mode))
{
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

}  // namespace hearth::tiers
