#pragma once

#include "base/files.hpp"

#include <cstdint>

namespace hearth::test {

enum class FileOperation : std::uint8_t {
    open,
    close,
    pread,
    pwrite,
    truncate,
    sync,
    stat,
    chmod,
    rename,
    unlink,
    mkdir,
    rmdir,
    list,
    try_lock,
};
inline constexpr std::size_t k_file_operations = 14;

// Hands every operation on to another Files: what watches or disturbs a few of them overrides those.
// Thread safety: that of the other.
class ForwardingFiles : public base::Files {
public:
    explicit ForwardingFiles(base::Files& inner) : m_inner(inner) {}

    int open(base::At at, int flags, unsigned mode) override { return m_inner.open(at, flags, mode); }
    int close(int fd) override { return m_inner.close(fd); }
    ssize_t pread(int fd, void* buffer, std::size_t size, std::uint64_t offset) override
    {
        return m_inner.pread(fd, buffer, size, offset);
    }
    ssize_t pwrite(int fd, const void* buffer, std::size_t size, std::uint64_t offset) override
    {
        return m_inner.pwrite(fd, buffer, size, offset);
    }
    int truncate(int fd, std::uint64_t size) override { return m_inner.truncate(fd, size); }
    int sync(int fd) override { return m_inner.sync(fd); }
    int stat(int fd, base::FileStat& out) override { return m_inner.stat(fd, out); }
    int stat(base::At at, base::FileStat& out) override { return m_inner.stat(at, out); }
    int chmod(int fd, unsigned mode) override { return m_inner.chmod(fd, mode); }
    int rename(base::At from, base::At to) override { return m_inner.rename(from, to); }
    int unlink(base::At at) override { return m_inner.unlink(at); }
    int mkdir(base::At at, unsigned mode) override { return m_inner.mkdir(at, mode); }
    int rmdir(base::At at) override { return m_inner.rmdir(at); }
    int list(base::At at, std::vector<std::string>& names) override { return m_inner.list(at, names); }
    int try_lock(int fd) override { return m_inner.try_lock(fd); }

private:
    base::Files& m_inner;
};

}  // namespace hearth::test
