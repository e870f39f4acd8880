#include "support/faulty_files.hpp"

#include <cerrno>

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

}  // namespace hearth::test
