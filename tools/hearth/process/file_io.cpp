#include "process/file_io.hpp"

#include "base/files.hpp"
#include "process/descriptor.hpp"
#include "terminal/exit.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::cli {

namespace {

constexpr std::size_t k_chunk = 1U << 20U;

[[noreturn]] void cannot_read(const std::string& path, int error)
{
    fail(fmt::format("{} cannot be read: {}. Check the path and its permissions.", in_quotes(path),
                     system_error(error)));
}

[[noreturn]] void cannot_write(const std::string& path, int error)
{
    fail(fmt::format("{} cannot be written: {}. Check the path, its permissions and the free space.", in_quotes(path),
                     system_error(error)));
}

// The errno of the first write that failed, or 0.
int write_all(int descriptor, ByteView bytes)
{
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), k_chunk));
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return 0;
}

mode_t mode_for_new_file()
{
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

// A pipe or a device.
void write_in_place(const std::string& path, ByteView bytes)
{
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    struct stat status {};
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0)
        cannot_write(path, errno);
    if (S_ISREG(status.st_mode))  // put there this moment
        cannot_write(path, EEXIST);
    if (const int error = write_all(file.get(), bytes); error == EPIPE)
        throw ReaderLeft{};
    else if (error != 0)
        cannot_write(path, error);
    if (file.reset() != 0)
        cannot_write(path, errno);
}

void write_beside_and_rename(const std::string& path, mode_t mode, ByteView bytes)
{
    std::string temporary = path + ".XXXXXX";
    Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (file.get() < 0)
        cannot_write(path, errno);
    int error = write_all(file.get(), bytes);
    if (error == 0 && ::fchmod(file.get(), mode) != 0)
        error = errno;
    if (file.reset() != 0 && error == 0)
        error = errno;
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0)
        error = errno;
    if (error != 0) {
        ::unlink(temporary.c_str());
        cannot_write(path, error);
    }
}

}  // namespace

Bytes read_whole(const std::string& path, std::uint64_t most)
{
    const std::string shown = path == "-" ? "Standard input" : in_quotes(path);
    Descriptor file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0)
        cannot_read(path, errno);

    struct stat status {};
    std::vector<std::byte> bytes;
    const bool known = ::fstat(file.get(), &status) == 0;
    if (known && path != "-" && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)))
        fail(fmt::format("{} is a device. Name a file, or - to read standard input.", shown));
    // One byte more than the file has, so that its end is found without growing the buffer.
    if (known && S_ISREG(status.st_mode))
        bytes.resize(static_cast<std::size_t>(std::min(static_cast<std::uint64_t>(status.st_size), most)) + 1);
    std::size_t have = 0;
    while (true) {
        if (have > most)
            fail(fmt::format("{} has more than the {} bytes that one entry may have. Raise HEARTH_MAX_ENTRY_BYTES.",
                             shown, most));
        if (have == bytes.size())
            bytes.resize(std::max(k_chunk, have + have / 2));
        const ssize_t got = ::read(file.get(), bytes.data() + have, bytes.size() - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            cannot_read(path == "-" ? "standard input" : path, errno);
        if (got == 0)
            break;
        have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return Bytes::adopt(std::move(bytes));
}

void write_whole(const std::string& path, ByteView bytes)
{
    const std::optional<std::string> place = base::place_of(path);
    if (!place)
        fail(fmt::format("{} is a link of another user, which is not followed. Choose another file.", in_quotes(path)));
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
        write_in_place(path, bytes);
        return;
    }
    // A symbolic link stays, and its target is replaced.
    if (::lstat(place->c_str(), &status) != 0) {
        if (errno != ENOENT)
            cannot_write(path, errno);
        write_beside_and_rename(*place, mode_for_new_file(), bytes);
        return;
    }
    if (!S_ISREG(status.st_mode))
        cannot_write(path, S_ISDIR(status.st_mode) ? EISDIR : EEXIST);
    // A neighbour may have put a file that everybody can write to, or that runs as its owner.
    write_beside_and_rename(*place, status.st_uid == ::geteuid() ? status.st_mode & 0777 : mode_for_new_file(), bytes);
}

void keep_other_files(const std::string& path, const FileKind& kind)
{
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error))
        return;  // the one that writes it reports this
    std::string first(kind.magic.size(), '\0');
    std::ifstream file(path, std::ios::binary);
    if (!file.read(first.data(), 1)) {
        if (file.eof())
            return;  // an empty file holds nothing that could be lost
        fail(
            fmt::format("{} exists and cannot be read, so that what it holds is not known; it is left as it is. Choose "
                        "another file.",
                        in_quotes(path)));
    }
    file.read(first.data() + 1, static_cast<std::streamsize>(first.size()) - 1);
    if (first != kind.magic)
        fail(fmt::format("{} exists and is not {}; it is left as it is. Choose another file.", in_quotes(path),
                         kind.name));
}

}  // namespace hearth::cli
