#pragma once

#include "base/files.hpp"
#include "base/fork.hpp"

#include <chrono>

namespace hearth::tiers {

// The lock on a cache directory, held while entries are published or removed; no hit ever waits for it.
// It ends with its holder. Each acquisition opens the file anew, and a forked child closes its copy, so that a child
// never shares its parent's lock. Neither create nor end one under a ForkSafeMutex.
class DirectoryLock {
public:
    // Waits at most `patience` for another holder. On failure error() is -errno; -EWOULDBLOCK: still held by another.
    DirectoryLock(base::Files& files, base::At at, unsigned mode, std::chrono::milliseconds patience);

    bool held() const { return m_error == 0; }
    int error() const { return m_error; }

private:
    void open(base::Files& files, base::At at, unsigned mode);

    base::FileHandle m_file;
    const base::ForkGuard m_fork_guard{[this] { m_file.close(); }, base::ForkGuard::Calls::once};
    int m_error = 0;
};

}  // namespace hearth::tiers
