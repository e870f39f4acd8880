#include "base/placed_file.hpp"

#include "base/error.hpp"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::base {

namespace {

constexpr int k_names_tried = 16;
// A file system takes names of 255 bytes, and our name is a little longer than the one it stands beside.
constexpr std::size_t k_longest_kept = 200;

std::uint64_t random_bits()
{
    std::uint64_t bits = 0;
    if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits)  // the machine has only just started
        bits = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) ^
               reinterpret_cast<std::uintptr_t>(&bits);
    return bits;
}

// Beside the final place, so that a rename puts it there. Process numbers would not make it unique: each container, and
// each machine of a network file system, has its own.
std::string name_beside(const std::string& path)
{
    const std::size_t name = path.find_last_of('/') + 1;
    return fmt::format("{}.part-{:016x}", path.substr(0, name + k_longest_kept), random_bits());
}

const char* kind_of(mode_t mode)
{
    return S_ISDIR(mode)                    ? "a directory"
           : S_ISFIFO(mode)                 ? "a pipe"
           : S_ISSOCK(mode)                 ? "a socket"
           : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                            : "no file";
}

}  // namespace

PlacedFile::PlacedFile(Files& files, const std::string& path, unsigned mode)
    : m_files(files), m_shown(path), m_path(place_of(path).value_or(""))
{
    if (m_path.empty() && !path.empty()) {
        m_refusal = fmt::format("{} is a link of another user, which is not followed. Choose another file.", path);
        return;
    }
    struct stat there {};
    if (::lstat(m_path.c_str(), &there) == 0 || ::stat(path.c_str(), &there) == 0) {
        if (!S_ISREG(there.st_mode)) {
            m_refusal = fmt::format("{} is {}, which cannot be replaced by a file. Choose another file.", path,
                                    kind_of(there.st_mode));
            return;
        }
        if (there.st_uid == ::geteuid() && there.st_nlink == 1)
            mode = there.st_mode & 0777U;
    }
    for (int attempt = 0; attempt < k_names_tried; ++attempt) {
        m_part = name_beside(m_path);
        m_file = FileHandle(files, files.open(m_part.c_str(), O_RDWR | O_CREAT | O_EXCL, mode));
        if (m_file.error() != EEXIST)
            break;
    }
    m_beside = m_file.open();
    m_error = m_beside ? 0 : m_file.fd();
}

PlacedFile::~PlacedFile()
{
    m_file.close();
    if (m_beside)
        m_files.unlink(m_part.c_str());
}

Status PlacedFile::status() const
{
    if (!m_refusal.empty())
        return error(Code::invalid_argument, "{}", m_refusal);
    if (m_error == 0)
        return {};
    const bool full = m_error == -ENOSPC || m_error == -EDQUOT;
    return Error{full ? Code::no_space : Code::io,
                 describe("Cannot write", m_shown, m_error) + ". Choose another file or free some space.",
                 {}};
}

void PlacedFile::write(ByteView bytes, std::uint64_t at)
{
    if (!failed())
        m_error = write_all(m_files, m_file.fd(), bytes, at);
}

void PlacedFile::read(void* buffer, std::size_t size, std::uint64_t at)
{
    if (!failed())
        m_error = read_exactly(m_files, m_file.fd(), buffer, size, at);
}

void PlacedFile::truncate(std::uint64_t size)
{
    if (!failed())
        m_error = m_files.truncate(m_file.fd(), size);
}

Status PlacedFile::place(Sync sync)
{
    if (!failed() && sync == Sync::yes)
        m_error = m_files.sync(m_file.fd());
    const int closed = m_file.close();
    if (!failed())
        m_error = closed;
    if (!failed())
        m_error = m_files.rename(m_part.c_str(), m_path.c_str());
    if (!failed())
        m_beside = false;
    return status();
}

}  // namespace hearth::base
