#include "support/faulty_files.hpp"

#include <cerrno>
#include <fcntl.h>

namespace hearth::test {

bool Fault::can_strike(FileOperation operation, bool creates) const
{
    using enum FileOperation;
    switch (error) {
    case k_short:
        return operation == pread || operation == pwrite;
    case ENOSPC:
        return creates || operation == pwrite || operation == truncate || operation == rename || operation == mkdir;
    case EMFILE:
        return operation == open || operation == list;
    case EINTR:
        return operation == open || operation == close || operation == pread || operation == pwrite ||
               operation == truncate || operation == sync || operation == try_lock;
    default:
        return true;
    }
}

std::uint64_t FaultyFiles::count() const
{
    std::uint64_t sum = 0;
    for (const auto& count : m_counts)
        sum += count;
    return sum;
}

bool FaultyFiles::strikes(FileOperation operation, bool creates)
{
    ++m_counts[static_cast<std::size_t>(operation)];
    if (!m_fault.can_strike(operation, creates))
        return false;
    const std::uint64_t number = m_strikable++;
    return number >= m_fault.first && number - m_fault.first < m_fault.times;
}

int FaultyFiles::open(base::At at, int flags, unsigned mode)
{
    return strikes(FileOperation::open, (flags & O_CREAT) != 0) ? error() : ForwardingFiles::open(at, flags, mode);
}

int FaultyFiles::close(int fd)
{
    // As in Linux: the descriptor is gone, whatever close() says.
    const int closed = ForwardingFiles::close(fd);
    return strikes(FileOperation::close) ? error() : closed;
}

ssize_t FaultyFiles::pread(int fd, void* buffer, std::size_t size, std::uint64_t offset)
{
    if (!strikes(FileOperation::pread))
        return ForwardingFiles::pread(fd, buffer, size, offset);
    return m_fault.error == Fault::k_short ? ForwardingFiles::pread(fd, buffer, (size + 1) / 2, offset) : error();
}

ssize_t FaultyFiles::pwrite(int fd, const void* buffer, std::size_t size, std::uint64_t offset)
{
    if (!strikes(FileOperation::pwrite))
        return ForwardingFiles::pwrite(fd, buffer, size, offset);
    return m_fault.error == Fault::k_short ? ForwardingFiles::pwrite(fd, buffer, (size + 1) / 2, offset) : error();
}

int FaultyFiles::truncate(int fd, std::uint64_t size)
{
    return strikes(FileOperation::truncate) ? error() : ForwardingFiles::truncate(fd, size);
}

int FaultyFiles::sync(int fd)
{
    return strikes(FileOperation::sync) ? error() : ForwardingFiles::sync(fd);
}

int FaultyFiles::stat(int fd, base::FileStat& out)
{
    return strikes(FileOperation::stat) ? error() : ForwardingFiles::stat(fd, out);
}

int FaultyFiles::stat(base::At at, base::FileStat& out)
{
    return strikes(FileOperation::stat) ? error() : ForwardingFiles::stat(at, out);
}

int FaultyFiles::chmod(int fd, unsigned mode)
{
    return strikes(FileOperation::chmod) ? error() : ForwardingFiles::chmod(fd, mode);
}

int FaultyFiles::rename(base::At from, base::At to)
{
    return strikes(FileOperation::rename) ? error() : ForwardingFiles::rename(from, to);
}

int FaultyFiles::unlink(base::At at)
{
    return strikes(FileOperation::unlink) ? error() : ForwardingFiles::unlink(at);
}

int FaultyFiles::mkdir(base::At at, unsigned mode)
{
    return strikes(FileOperation::mkdir) ? error() : ForwardingFiles::mkdir(at, mode);
}

int FaultyFiles::rmdir(base::At at)
{
    return strikes(FileOperation::rmdir) ? error() : ForwardingFiles::rmdir(at);
}

int FaultyFiles::list(base::At at, std::vector<std::string>& names)
{
    names.clear();
    return strikes(FileOperation::list) ? error() : ForwardingFiles::list(at, names);
}

int FaultyFiles::try_lock(int fd)
{
    return strikes(FileOperation::try_lock) ? error() : ForwardingFiles::try_lock(fd);
}

}  // namespace hearth::test
