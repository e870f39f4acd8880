#include "process/file_io.hpp"

#include "base/files.hpp"
#include "base/log_file.hpp"
#include "base/placed_file.hpp"
#include "process/descriptor.hpp"
#include "process/stop_signals.hpp"
#include "terminal/exit.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
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

bool is_pipe_of_ours(const struct stat& status)
{
    return S_ISFIFO(status.st_mode) && (status.st_uid == ::geteuid() || status.st_uid == 0);
}

// Pipes that have no name, as behind /dev/stdout, belong to whoever started us.
bool has_a_name(int pipe)
{
    struct statfs system {};
    return ::fstatfs(pipe, &system) != 0 || system.f_type != PIPEFS_MAGIC;
}

// A pipe or a device. Waits for the reader of a pipe of this user's, but not for one that a neighbour has put there.
void write_in_place(const std::string& path, ByteView bytes)
{
    constexpr auto k_look_again = std::chrono::milliseconds(20);
    struct stat status {};
    Descriptor file(base::open_log(path, 0));
    while (file.get() < 0 && errno == ENXIO && ::stat(path.c_str(), &status) == 0 && is_pipe_of_ours(status)) {
        stop_if_told();
        std::this_thread::sleep_for(k_look_again);
        file = Descriptor(base::open_log(path, 0));
    }
    if (file.get() < 0 || ::fstat(file.get(), &status) != 0)
        cannot_write(path, errno);
    if (S_ISREG(status.st_mode))  // put there this moment
        cannot_write(path, EEXIST);
    if (S_ISFIFO(status.st_mode) && !is_pipe_of_ours(status) && has_a_name(file.get()))
        fail(fmt::format("{} is a pipe of another user. Choose another file.", in_quotes(path)));
    ::fcntl(file.get(), F_SETFL, ::fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
    if (const int error = write_all(file.get(), bytes); error == EPIPE)
        throw ReaderLeft{};
    else if (error != 0)
        cannot_write(path, error);
    if (file.reset() != 0)
        cannot_write(path, errno);
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
    struct stat status {};
    if (base::place_of(path) && ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
        !S_ISDIR(status.st_mode)) {
        write_in_place(path, bytes);
        return;
    }
    base::PlacedFile file(base::system_files(), path, 0666);
    file.write(bytes, 0);
    if (const Status placed = file.place(base::PlacedFile::Sync::no); !placed)
        fail(placed.error().message);
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
