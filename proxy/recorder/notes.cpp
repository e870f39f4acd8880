#include "recorder/notes.hpp"

#include "starts/starts.hpp"
#include "watch/program_search.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace hearth::recorder {

using watch::Asked;
using watch::Did;
using watch::TreeRecord;

namespace {

constexpr std::size_t k_most_text = 65'000;
constexpr int k_unopened = -2;

// The log, and the directory that relative paths are meant from. Set once, when the program begins, or by whoever is
// first before that.
int g_log = k_unopened;
char g_start[PATH_MAX];
bool g_moved = false;
std::uint64_t g_terminals[2];  // inodes of the pipes that stand for one; 0: none

// Descriptors up high are rarely in a program's way; those that close all they can see are met by opening again.
void open_log()
{
    static constexpr int k_high = 700;
    const char* const text = starts::value_in(environ, watch::k_tree_log_variable);
    g_log = -1;
    if (text == nullptr)
        return;
    // log ":" inode ":" inode ":" directory
    const char* const colon = std::strchr(text, ':');
    if (colon == nullptr || static_cast<std::size_t>(colon - text) >= PATH_MAX)
        return;
    const char* rest = colon + 1;
    for (std::uint64_t& inode : g_terminals) {
        inode = 0;
        for (; *rest >= '0' && *rest <= '9'; ++rest)
            inode = inode * 10 + static_cast<std::uint64_t>(*rest - '0');
        if (*rest++ != ':')
            return;
    }
    if (std::strlen(rest) >= sizeof g_start)
        return;
    char path[PATH_MAX];
    std::memcpy(path, text, static_cast<std::size_t>(colon - text));
    path[colon - text] = '\0';
    std::strcpy(g_start, rest);
    char called[128];
    const long size = ::syscall(SYS_readlinkat, AT_FDCWD, path, called, sizeof called);
    const std::size_t wanted = std::strlen(watch::k_tree_log_link);
    if (size < static_cast<long>(wanted) || std::memcmp(called, watch::k_tree_log_link, wanted) != 0)
        return;
    const long low = ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (low < 0)
        return;
    const long high = ::syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, k_high);
    if (high >= 0)
        ::syscall(SYS_close, low);
    g_log = static_cast<int>(high >= 0 ? high : low);
    note_move();
}

bool stat_of(int directory, const char* path, int flags, struct stat& status)
{
    return ::syscall(SYS_newfstatat, directory, path, &status, flags) == 0;
}

void identify(const struct stat& status, TreeRecord& record)
{
    static constexpr std::int64_t k_second = 1'000'000'000;
    record.mode = status.st_mode;
    record.file = {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                   status.st_mtim.tv_sec * k_second + status.st_mtim.tv_nsec,
                   status.st_ctim.tv_sec * k_second + status.st_ctim.tv_nsec};
}

std::int64_t stamping_clock()
{
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// A write in the same tick of the clock as the last one leaves a file's stamps as they are. So a file that was written
// just now, or a directory in which a name was, is given to the program once that tick is over: from then on a change
// shows.
void wait_for_the_tick(int descriptor, TreeRecord& record)
{
    static constexpr int k_most_waits = 20;
    static constexpr timespec k_millisecond{0, 1'000'000};
    struct stat status {};
    for (int i = 0; i < k_most_waits; ++i) {
        if (!stat_of(descriptor, "", AT_EMPTY_PATH, status))
            return;
        identify(status, record);
        if ((!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) ||
            (record.file.modified_ns < stamping_clock() && record.file.changed_ns < stamping_clock()))
            return;
        ::nanosleep(&k_millisecond, nullptr);
    }
}

class KeepErrno {
public:
    KeepErrno() = default;
    ~KeepErrno() { errno = m_error; }
    KeepErrno(const KeepErrno&) = delete;
    KeepErrno& operator=(const KeepErrno&) = delete;

private:
    int m_error = errno;
};

}  // namespace

Path::Path(const char* given) : Path(AT_FDCWD, given) {}

Path::Path(int directory, const char* given) : m_text(given)
{
    const KeepErrno keep;
    m_buffer[0] = '\0';
    if (given == nullptr || given[0] == '/' || !is_recording())
        return;
    if (directory == AT_FDCWD && !g_moved)
        return;
    long size = 0;
    if (directory == AT_FDCWD) {
        size = ::syscall(SYS_getcwd, m_buffer, std::size_t{PATH_MAX}) - 1;
    } else {
        // "/proc/self/fd/N", without the C library's printing, which allocates.
        char link[40] = "/proc/self/fd/";
        char digits[16];
        int count = 0;
        for (unsigned rest = static_cast<unsigned>(directory); count == 0 || rest != 0; rest /= 10)
            digits[count++] = static_cast<char>('0' + rest % 10);
        std::size_t at = std::strlen(link);
        while (count > 0)
            link[at++] = digits[--count];
        link[at] = '\0';
        size = ::syscall(SYS_readlinkat, AT_FDCWD, link, m_buffer, std::size_t{PATH_MAX});
    }
    const std::size_t rest = std::strlen(given);
    if (size <= 0 || static_cast<std::size_t>(size) + rest + 2 > sizeof m_buffer) {
        note_unanswered("a path whose directory cannot be told");
        return;
    }
    m_buffer[size] = '/';
    std::memcpy(m_buffer + size + 1, given, rest + 1);
    m_text = m_buffer;
}

void note_move()
{
    const KeepErrno keep;
    char now[PATH_MAX];
    g_moved = ::syscall(SYS_getcwd, now, sizeof now) <= 0 || std::strcmp(now, g_start) != 0;
}

bool stands_for_terminal(int descriptor)
{
    struct stat status {};
    return is_recording() && stat_of(descriptor, "", AT_EMPTY_PATH, status) && S_ISFIFO(status.st_mode) &&
           status.st_ino != 0 && (status.st_ino == g_terminals[0] || status.st_ino == g_terminals[1]);
}

// From "/proc/PID/fd/N".
int started_by()
{
    const char* text = starts::value_in(environ, watch::k_tree_log_variable);
    int process = 0;
    if (text == nullptr || std::strncmp(text, "/proc/", 6) != 0)
        return 0;
    for (text += 6; *text >= '0' && *text <= '9'; ++text)
        process = process * 10 + (*text - '0');
    return process;
}

bool is_recording()
{
    if (g_log == k_unopened) {
        const KeepErrno keep;
        open_log();
    }
    return g_log >= 0;
}

void note(const TreeRecord& given, const char* name, const char* answer, ssize_t answer_size)
{
    if (!is_recording())
        return;
    const KeepErrno keep;
    TreeRecord record = given;
    std::size_t name_size = name != nullptr ? std::strlen(name) : 0;
    std::size_t size = answer == nullptr  ? 0
                       : answer_size >= 0 ? static_cast<std::size_t>(answer_size)
                                          : std::strlen(answer);
    if (name_size > k_most_text || size > k_most_text) {
        record.did = Did::overflow;
        name_size = size = 0;
    }
    record.name_size = static_cast<std::uint16_t>(name_size);
    record.answer_size = static_cast<std::uint32_t>(size);
    record.size = static_cast<std::uint32_t>(sizeof record + name_size + size);
    record.process = static_cast<std::uint32_t>(::syscall(SYS_getpid));
    if (record.at_ns == 0)
        record.at_ns = stamping_clock();
    const iovec parts[] = {
        {&record, sizeof record}, {const_cast<char*>(name), name_size}, {const_cast<char*>(answer), size}};
    // One call: records of several processes do not mix.
    long written = ::syscall(SYS_writev, g_log, parts, 3);
    if (written < 0 && errno == EBADF) {  // the program has closed it
        open_log();
        written = ::syscall(SYS_writev, g_log, parts, 3);
    }
    // A record that was cut short is seen by who reads it. One that is not there at all is not: there is nothing more
    // that can be done without memory or disk, so the program's start is the test (a log that cannot be written to has
    // no `entered` in it).
}

void note_asked(Asked asked, const char* name, int error, const char* answer, ssize_t answer_size)
{
    note({.asked = asked, .error = error}, name, answer, answer_size);
}

void note_status(const char* path, int error)
{
    if (!is_recording())
        return;
    const KeepErrno keep;
    TreeRecord record{.asked = Asked::status, .error = error};
    struct stat status {};
    if (error == 0 && path != nullptr && stat_of(AT_FDCWD, path, 0, status))
        identify(status, record);
    note(record, path);
}

bool is_there(int directory, const char* path)
{
    const KeepErrno keep;
    struct stat status {};
    return is_recording() && path != nullptr && stat_of(directory, path, 0, status);
}

void note_open(const char* path, Opens opens, bool was_there, int descriptor, int error)
{
    if (!is_recording())
        return;
    const KeepErrno keep;
    static constexpr Did k_did[]{Did::asked, Did::wrote, Did::changes, Did::appends};
    TreeRecord record{.did = k_did[static_cast<std::size_t>(opens)],
                      .asked = Asked::file,
                      .error = descriptor < 0 ? error : 0,
                      .was_there = was_there ? 1U : 0U};
    struct stat status {};
    if (descriptor >= 0 && stat_of(descriptor, "", AT_EMPTY_PATH, status)) {
        identify(status, record);
        if (S_ISDIR(record.mode))
            record.asked = Asked::directory;
        if (opens == Opens::to_read)
            wait_for_the_tick(descriptor, record);
    }
    note(record, path);
}

void note_cut(const char* path)
{
    note({.did = Did::changes, .was_there = 1}, path);
}

void note_did(Did did, const char* name, const char* answer)
{
    note({.did = did}, name, answer);
}

void note_unanswered(const char* what)
{
    note({.asked = Asked::unanswered}, what);
}

void note_search(const char* program)
{
    if (!is_recording() || program == nullptr || std::strchr(program, '/') != nullptr)
        return;
    const KeepErrno keep;
    const char* const path = starts::value_in(environ, "PATH");
    bool is_there = false;
    watch::for_each_candidate(path, program, [&](const char* candidate, bool there) {
        const Path shown(candidate);
        note_status(shown.text(), there ? 0 : ENOENT);
        return is_there = there;
    });
    // What was found is told when it starts.
    if (!is_there)
        note_asked(Asked::variable, "PATH", path == nullptr ? ENOENT : 0, path);
}

}  // namespace hearth::recorder
