#pragma once

#include "support/forwarding_files.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <limits>
#include <ostream>

namespace hearth::test {

// What goes wrong, and when.
struct Fault {
    static constexpr int k_short = 0;  // not an error: reads and writes do half of what was asked
    static constexpr std::uint64_t k_never = std::numeric_limits<std::uint64_t>::max();

    int error = 0;                    // EIO, ENOSPC, EMFILE, EINTR, ... or k_short
    std::uint64_t first = k_never;    // which operation it strikes first, counted from 0 among those it can strike
    std::uint64_t times = k_forever;  // how many in a row from there

    static constexpr std::uint64_t k_once = 1;
    static constexpr std::uint64_t k_forever = std::numeric_limits<std::uint64_t>::max();

    // Whether an operation can end like this: a read never finds the disk full.
    bool can_strike(FileOperation operation, bool creates) const;
};

// One for a parameterised suite.
struct FaultCase {
    const char* name;
    int error;
    std::uint64_t times;

    Fault at(std::uint64_t first) const { return {.error = error, .first = first, .times = times}; }
};

inline void PrintTo(const FaultCase& fault, std::ostream* out)
{
    *out << fault.name;
}

// Of this process: those that leak while something fails are seen by it.
inline std::size_t open_descriptors()
{
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Files of which the n-th operation, or all from the n-th on, fail without having done anything; a close always closes.
// With EIO for ever it is as if the process had been killed at that point: nothing reaches the disk any more.
// It also counts: without a fault, how many operations there were.
// Thread safety: all of it.
class FaultyFiles final : public ForwardingFiles {
public:
    explicit FaultyFiles(const Fault& fault = {}, base::Files& inner = base::system_files())
        : ForwardingFiles(inner), m_fault(fault)
    {
    }

    // Operations so far that the fault could have struck.
    std::uint64_t strikable() const { return m_strikable; }
    std::uint64_t count(FileOperation operation) const { return m_counts[static_cast<std::size_t>(operation)]; }
    std::uint64_t count() const;

    int open(base::At at, int flags, unsigned mode) override
    {
        return strikes(Op::open, (flags & O_CREAT) != 0) ? error() : ForwardingFiles::open(at, flags, mode);
    }
    int close(int fd) override
    {
        // As in Linux: the descriptor is gone, whatever close() says.
        const int closed = ForwardingFiles::close(fd);
        return strikes(Op::close) ? error() : closed;
    }
    ssize_t pread(int fd, void* buffer, std::size_t size, std::uint64_t offset) override
    {
        const bool now = strikes(Op::pread);
        return now && m_fault.error != Fault::k_short
                   ? error()
                   : ForwardingFiles::pread(fd, buffer, now ? (size + 1) / 2 : size, offset);
    }
    ssize_t pwrite(int fd, const void* buffer, std::size_t size, std::uint64_t offset) override
    {
        const bool now = strikes(Op::pwrite);
        return now && m_fault.error != Fault::k_short
                   ? error()
                   : ForwardingFiles::pwrite(fd, buffer, now ? (size + 1) / 2 : size, offset);
    }
    int truncate(int fd, std::uint64_t size) override
    {
        return strikes(Op::truncate) ? error() : ForwardingFiles::truncate(fd, size);
    }
    int sync(int fd) override { return strikes(Op::sync) ? error() : ForwardingFiles::sync(fd); }
    int stat(int fd, base::FileStat& out) override
    {
        return strikes(Op::stat) ? error() : ForwardingFiles::stat(fd, out);
    }
    int stat(base::At at, base::FileStat& out) override
    {
        return strikes(Op::stat) ? error() : ForwardingFiles::stat(at, out);
    }
    int chmod(int fd, unsigned mode) override
    {
        return strikes(Op::chmod) ? error() : ForwardingFiles::chmod(fd, mode);
    }
    int rename(base::At from, base::At to) override
    {
        return strikes(Op::rename) ? error() : ForwardingFiles::rename(from, to);
    }
    int unlink(base::At at) override { return strikes(Op::unlink) ? error() : ForwardingFiles::unlink(at); }
    int mkdir(base::At at, unsigned mode) override
    {
        return strikes(Op::mkdir) ? error() : ForwardingFiles::mkdir(at, mode);
    }
    int rmdir(base::At at) override { return strikes(Op::rmdir) ? error() : ForwardingFiles::rmdir(at); }
    int list(base::At at, std::vector<std::string>& names) override
    {
        names.clear();
        return strikes(Op::list) ? error() : ForwardingFiles::list(at, names);
    }
    int try_lock(int fd) override { return strikes(Op::try_lock) ? error() : ForwardingFiles::try_lock(fd); }

private:
    using Op = FileOperation;

    // Counts the operation and says whether this is one that goes wrong.
    bool strikes(FileOperation operation, bool creates = false);
    int error() const { return -m_fault.error; }

    const Fault m_fault;
    std::atomic<std::uint64_t> m_strikable{0};
    std::array<std::atomic<std::uint64_t>, k_file_operations> m_counts{};
};

}  // namespace hearth::test
