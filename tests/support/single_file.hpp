#pragma once

#include "base/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace hearth::test {

// One file in memory, whatever path is asked for: decoders that read files run a million times without a disk.
// Thread safety: none.
class SingleFile : public base::Files {
public:
    // A write beyond this is refused as a full disk refuses it: no offset can make a test allocate without bound.
    static constexpr std::uint64_t k_most_bytes = 1 << 24;

    explicit SingleFile(std::string content = {}) : m_content(std::move(content)) {}

    std::string& content() { return m_content; }

    int open(base::At /*at*/, int /*flags*/, unsigned /*mode*/) override { return k_fd; }
    int close(int /*fd*/) override { return 0; }
    ssize_t pread(int /*fd*/, void* buffer, std::size_t size, std::uint64_t offset) override
    {
        if (offset > INT64_MAX)
            return -EINVAL;  // as the kernel says of a negative offset
        if (offset >= m_content.size())
            return 0;
        const std::size_t got = std::min<std::size_t>(size, m_content.size() - offset);
        std::memcpy(buffer, m_content.data() + offset, got);
        return static_cast<ssize_t>(got);
    }
    ssize_t pwrite(int /*fd*/, const void* buffer, std::size_t size, std::uint64_t offset) override
    {
        if (offset > k_most_bytes || size > k_most_bytes - offset)
            return -ENOSPC;
        m_content.resize(std::max<std::size_t>(m_content.size(), offset + size), '\0');
        std::memcpy(m_content.data() + offset, buffer, size);
        return static_cast<ssize_t>(size);
    }
    int truncate(int /*fd*/, std::uint64_t size) override
    {
        if (size > k_most_bytes)
            return -ENOSPC;
        m_content.resize(size, '\0');
        return 0;
    }
    int sync(int /*fd*/) override { return 0; }
    int stat(int /*fd*/, base::FileStat& out) override
    {
        out = {};
        out.type = base::FileType::file;
        out.size = m_content.size();
        out.links = 1;
        return 0;
    }
    int stat(base::At /*at*/, base::FileStat& out) override { return stat(k_fd, out); }
    int chmod(int /*fd*/, unsigned /*mode*/) override { return 0; }
    int rename(base::At /*from*/, base::At /*to*/) override { return 0; }
    int unlink(base::At /*at*/) override { return 0; }
    int mkdir(base::At /*at*/, unsigned /*mode*/) override { return -ENOSYS; }
    int rmdir(base::At /*at*/) override { return -ENOSYS; }
    int list(base::At /*at*/, std::vector<std::string>& names) override
    {
        names.clear();
        return -ENOTDIR;
    }
    int try_lock(int /*fd*/) override { return 0; }

protected:
    static constexpr int k_fd = 1000;  // no descriptor of the process: one that leaks out of here fails at once

private:
    std::string m_content;
};

// A disk that takes so many bytes in all and then no more.
class FullDisk final : public SingleFile {
public:
    explicit FullDisk(std::uint64_t room) : m_room(room) {}
    ssize_t pwrite(int fd, const void* buffer, std::size_t size, std::uint64_t offset) override
    {
        if (size > m_room)
            return -ENOSPC;
        m_room -= size;
        return SingleFile::pwrite(fd, buffer, size, offset);
    }
    int rename(base::At /*from*/, base::At /*to*/) override { return ++m_renamed, 0; }
    int unlink(base::At /*at*/) override { return ++m_unlinked, 0; }
    int renamed() const { return m_renamed; }
    int unlinked() const { return m_unlinked; }

private:
    std::uint64_t m_room;
    int m_renamed = 0;
    int m_unlinked = 0;
};

}  // namespace hearth::test
