#pragma once

#include "base/files.hpp"

#include <chrono>
#include <string>

namespace hearth::tiers {

// The lock on a cache directory, held while entries are published or removed; no hit ever waits for it.
// It ends with its holder. Each acquisition opens the file anew, so that a forked child never shares its parent's lock.
class DirectoryLock {
public:
    // Waits at most `patience` for another holder. On failure error() is -errno; -EWOULDBLOCK: still held by another.
    DirectoryLock(base::Files& files, const std::string& path, unsigned mode, std::chrono::milliseconds patience);

    bool held() const { return m_error == 0; }
    int error() const { return m_error; }

private:
    base::FileHandle m_file;
    int m_error = 0;
};

}  // namespace hearth::tiers
