// Sees what the programs of a tree of processes ask the system. Preloaded into each of them (LD_PRELOAD), it stands
// before libc's functions, calls them, and writes down what was asked and answered (watch/tree_record.hpp). It changes
// no answer but that of isatty(), which tells of the streams of who started the tree, since ours are pipes; and, where
// directories have fixed names (k_links_variable), those that would tell others, and the times of sources.
//
// Linked with libc alone. What a function here leaves out is invisible: a program that asks by other means (its own
// system calls, a static library) does not say `entered`, and its tree is not kept.

#include "compilers/command/program_names.hpp"
#include "original.hpp"
#include "recorder/notes.hpp"
#include "starts/through_hearth.hpp"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <iconv.h>
#include <link.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

using hearth::recorder::note_asked;
using hearth::recorder::note_did;
using hearth::recorder::note_open;
using hearth::recorder::note_status;
using hearth::recorder::note_unanswered;
using hearth::recorder::Path;
using hearth::watch::Asked;
using hearth::watch::Did;

namespace {

using hearth::recorder::Opens;
using hearth::watch::k_linked_descriptors;
using hearth::watch::k_linked_directory;

bool has_links()
{
    return hearth::starts::value_in(environ, hearth::watch::k_links_variable) != nullptr;
}

bool is_linked(const char* path)
{
    return std::strncmp(path, k_linked_directory, std::strlen(k_linked_directory)) == 0 ||
           std::strncmp(path, k_linked_descriptors, std::strlen(k_linked_descriptors)) == 0;
}

// `out`: where the program wants it, which is large enough; null: in memory of its own.
char* answered(char* result, char* out, const char* text)
{
    if (out != nullptr)
        return std::strcpy(out, text);
    char* const copy = ::strdup(text);
    if (copy == nullptr)
        return result;
    std::free(result);
    return copy;
}

// ptxas asks for the times of sources only to write them down, and writes none where there is no file.
bool tells_no_times()
{
    using namespace hearth::command;
    return has_links() && is_one_of(k_program_ptxas, plain_name(program_invocation_short_name));
}

Opens opens(int flags)
{
    if ((flags & O_ACCMODE) == O_RDONLY && (flags & (O_CREAT | O_TRUNC)) == 0)
        return Opens::to_read;
    return (flags & (O_TRUNC | O_EXCL)) != 0 ? Opens::to_write
           : (flags & O_APPEND) != 0         ? Opens::to_append
                                             : Opens::to_change;
}

Opens opens(const char* mode)
{
    if (std::strpbrk(mode, "wa+") == nullptr)
        return Opens::to_read;
    return mode[0] == 'w' ? Opens::to_write : mode[0] == 'a' ? Opens::to_append : Opens::to_change;
}

template <class Open>
int opened(Open&& open, int directory, const char* path, int flags)
{
    const bool was_there = opens(flags) != Opens::to_read && hearth::recorder::is_there(directory, path);
    const int descriptor = open();
    const int error = errno;
    const Path told(directory, path);
    note_open(told.text(), opens(flags), was_there, descriptor, error);
    errno = error;
    return descriptor;
}

template <class R>
R looked_at(R result, const char* path, int directory = AT_FDCWD)
{
    if (tells_no_times()) {
        errno = ENOENT;
        return -1;
    }
    const int error = errno;
    const Path told(directory, path);
    note_status(told.text(), result == 0 ? 0 : error);
    errno = error;
    return result;
}

template <class Open>
std::FILE* opened(Open&& open, const char* path, const char* mode)
{
    const bool was_there = opens(mode) != Opens::to_read && hearth::recorder::is_there(AT_FDCWD, path);
    std::FILE* const stream = open();
    const int error = errno;
    const Path told(path);
    note_open(told.text(), opens(mode), was_there, stream != nullptr ? ::fileno(stream) : -1, error);
    errno = error;
    return stream;
}

int changed(int result, Did did, const char* path, int directory = AT_FDCWD)
{
    const int error = errno;
    const Path told(directory, path);
    if (result == 0)
        note_did(did, told.text());
    errno = error;
    return result;
}

template <class R>
R temporary(R result, const char* path, bool worked, Did did = Did::wrote)
{
    const int error = errno;
    const Path told(path);
    if (worked)
        note_did(did, told.text());
    errno = error;
    return result;
}

}  // namespace

// Files that are opened.

#define OPEN(name)                                                                                                     \
    EXPORT int name(const char* path, int flags, ...)                                                                  \
    {                                                                                                                  \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        const mode_t mode = va_arg(rest, mode_t);                                                                      \
        va_end(rest);                                                                                                  \
        return opened([&] { return ORIGINAL(name, int(const char*, int, ...))(path, flags, mode); }, AT_FDCWD, path,   \
                      flags);                                                                                          \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
    EXPORT int name(int directory, const char* path, int flags, ...)                                                   \
    {                                                                                                                  \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        const mode_t mode = va_arg(rest, mode_t);                                                                      \
        va_end(rest);                                                                                                  \
        return opened([&] { return ORIGINAL(name, int(int, const char*, int, ...))(directory, path, flags, mode); },   \
                      directory, path, flags);                                                                         \
    }
OPENAT(openat)
OPENAT(openat64)

#define OPEN_CHECKED(name)                                                                                             \
    EXPORT int name(const char* path, int flags)                                                                       \
    {                                                                                                                  \
        return opened([&] { return ORIGINAL(name, int(const char*, int))(path, flags); }, AT_FDCWD, path, flags);      \
    }
OPEN_CHECKED(__open_2)
OPEN_CHECKED(__open64_2)

#define OPENAT_CHECKED(name)                                                                                           \
    EXPORT int name(int directory, const char* path, int flags)                                                        \
    {                                                                                                                  \
        return opened([&] { return ORIGINAL(name, int(int, const char*, int))(directory, path, flags); }, directory,   \
                      path, flags);                                                                                    \
    }
OPENAT_CHECKED(__openat_2)
OPENAT_CHECKED(__openat64_2)

#define CREAT(name)                                                                                                    \
    EXPORT int name(const char* path, mode_t mode)                                                                     \
    {                                                                                                                  \
        return opened([&] { return ORIGINAL(name, int(const char*, mode_t))(path, mode); }, AT_FDCWD, path,            \
                      O_WRONLY | O_CREAT | O_TRUNC);                                                                   \
    }
CREAT(creat)
CREAT(creat64)

#define FOPEN(name)                                                                                                    \
    EXPORT std::FILE* name(const char* path, const char* mode)                                                         \
    {                                                                                                                  \
        return opened([&] { return ORIGINAL(name, std::FILE * (const char*, const char*))(path, mode); }, path, mode); \
    }
FOPEN(fopen)
FOPEN(fopen64)

#define FREOPEN(name)                                                                                                  \
    EXPORT std::FILE* name(const char* path, const char* mode, std::FILE* stream)                                      \
    {                                                                                                                  \
        return opened(                                                                                                 \
            [&] { return ORIGINAL(name, std::FILE * (const char*, const char*, std::FILE*))(path, mode, stream); },    \
            path, mode);                                                                                               \
    }
FREOPEN(freopen)
FREOPEN(freopen64)

// Directories that are listed.

// The C library lists directories for these where nobody sees it.
namespace {

void note_listing(const char* pattern)
{
    const int error = errno;
    char directory[4096] = ".";
    const char* const slash = std::strrchr(pattern, '/');
    const auto size = slash != nullptr ? static_cast<std::size_t>(slash - pattern) : 0;
    if (size >= sizeof directory || std::strcspn(pattern, "*?[{~") < size)
        note_unanswered("glob");
    else if (size > 0) {
        std::memcpy(directory, pattern, size);
        directory[size] = '\0';
    }
    note_asked(Asked::directory, Path(directory).text(), 0);
    errno = error;
}

}  // namespace

EXPORT int glob(const char* pattern, int flags, int (*on_error)(const char*, int), glob_t* found)
{
    note_listing(pattern);
    return ORIGINAL(glob, int(const char*, int, int (*)(const char*, int), glob_t*))(pattern, flags, on_error, found);
}

EXPORT int glob64(const char* pattern, int flags, int (*on_error)(const char*, int), glob64_t* found)
{
    note_listing(pattern);
    return ORIGINAL(glob64, int(const char*, int, int (*)(const char*, int), glob64_t*))(pattern, flags, on_error,
                                                                                         found);
}

EXPORT DIR* opendir(const char* path)
{
    DIR* const result = ORIGINAL(opendir, DIR * (const char*))(path);
    const int error = errno;
    const Path told(path);
    if (result == nullptr)
        note_asked(Asked::directory, told.text(), error);
    else
        note_open(told.text(), Opens::to_read, false, ::dirfd(result), 0);
    errno = error;
    return result;
}

// Files that are looked at.

#define STATUS(name)                                                                                                   \
    EXPORT int name(const char* path, struct name* status)                                                             \
    {                                                                                                                  \
        return looked_at(ORIGINAL(name, int(const char*, struct name*))(path, status), path);                          \
    }
#define LSTATUS(name, type)                                                                                            \
    EXPORT int name(const char* path, struct type* status)                                                             \
    {                                                                                                                  \
        return looked_at(ORIGINAL(name, int(const char*, struct type*))(path, status), path);                          \
    }
STATUS(stat)
STATUS(stat64)
LSTATUS(lstat, stat)
LSTATUS(lstat64, stat64)

#define STATUS_AT(name, type)                                                                                          \
    EXPORT int name(int directory, const char* path, struct type* status, int flags)                                   \
    {                                                                                                                  \
        const int result = ORIGINAL(name, int(int, const char*, struct type*, int))(directory, path, status, flags);   \
        return path[0] == '\0' ? result : looked_at(result, path, directory);                                          \
    }
STATUS_AT(fstatat, stat)
STATUS_AT(fstatat64, stat64)

EXPORT int statx(int directory, const char* path, int flags, unsigned mask, struct statx* status)
{
    const int result =
        ORIGINAL(statx, int(int, const char*, int, unsigned, struct statx*))(directory, path, flags, mask, status);
    return path[0] == '\0' ? result : looked_at(result, path, directory);
}

// As programs of an older libc call it.
#define OLD_STATUS(name)                                                                                               \
    EXPORT int name(int version, const char* path, void* status)                                                       \
    {                                                                                                                  \
        return looked_at(ORIGINAL(name, int(int, const char*, void*))(version, path, status), path);                   \
    }
OLD_STATUS(__xstat)
OLD_STATUS(__xstat64)
OLD_STATUS(__lxstat)
OLD_STATUS(__lxstat64)

#define ACCESS(name)                                                                                                   \
    EXPORT int name(const char* path, int mode)                                                                        \
    {                                                                                                                  \
        return looked_at(ORIGINAL(name, int(const char*, int))(path, mode), path);                                     \
    }
ACCESS(access)
ACCESS(eaccess)
ACCESS(euidaccess)

EXPORT int faccessat(int directory, const char* path, int mode, int flags)
{
    return looked_at(ORIGINAL(faccessat, int(int, const char*, int, int))(directory, path, mode, flags), path,
                     directory);
}

// Links and paths.

namespace {

ssize_t read_link(ssize_t result, int directory, const char* path, const char* out)
{
    const int error = errno;
    const Path told(directory, path);
    note_asked(Asked::link, told.text(), result < 0 ? error : 0, result > 0 ? out : nullptr, result);
    errno = error;
    return result;
}

// `out`: as realpath() was given it.
char* real_path(char* result, const char* path, char* out = nullptr)
{
    const int error = errno;
    const Path told(path);
    char fixed[PATH_MAX];
    const bool is_relative = path != nullptr && path[0] != '/';
    const int size = result != nullptr && has_links() && (is_relative || is_linked(path))
                         ? std::snprintf(fixed, sizeof fixed, "%s%s%s", is_relative ? k_linked_directory : "",
                                         is_relative ? "/" : "", path)
                         : -1;
    if (size > 0 && size < PATH_MAX) {
        note_status(told.text(), 0);  // which is all that the answer tells
        result = answered(result, out, fixed);
    } else {
        note_asked(Asked::real_path, told.text(), result == nullptr ? error : 0, result);
    }
    errno = error;
    return result;
}

}  // namespace

EXPORT ssize_t readlink(const char* path, char* out, std::size_t size)
{
    return read_link(ORIGINAL(readlink, ssize_t(const char*, char*, std::size_t))(path, out, size), AT_FDCWD, path,
                     out);
}

EXPORT ssize_t __readlink_chk(const char* path, char* out, std::size_t size, std::size_t most)
{
    return read_link(
        ORIGINAL(__readlink_chk, ssize_t(const char*, char*, std::size_t, std::size_t))(path, out, size, most),
        AT_FDCWD, path, out);
}

EXPORT ssize_t readlinkat(int directory, const char* path, char* out, std::size_t size)
{
    return read_link(ORIGINAL(readlinkat, ssize_t(int, const char*, char*, std::size_t))(directory, path, out, size),
                     directory, path, out);
}

EXPORT char* realpath(const char* path, char* out)
{
    return real_path(ORIGINAL(realpath, char*(const char*, char*))(path, out), path, out);
}

EXPORT char* __realpath_chk(const char* path, char* out, std::size_t size)
{
    return real_path(ORIGINAL(__realpath_chk, char*(const char*, char*, std::size_t))(path, out, size), path, out);
}

EXPORT char* canonicalize_file_name(const char* path)
{
    return real_path(ORIGINAL(canonicalize_file_name, char*(const char*))(path), path);
}

EXPORT char* getcwd(char* out, std::size_t size)
{
    char* const result = ORIGINAL(getcwd, char*(char*, std::size_t))(out, size);
    const int error = errno;
    note_asked(Asked::where, "", result == nullptr ? error : 0, result);
    const bool is_told = result != nullptr && has_links() && (out == nullptr || size > std::strlen(k_linked_directory));
    errno = error;
    return is_told ? answered(result, out, k_linked_directory) : result;
}

EXPORT int chdir(const char* path)
{
    const int result = ORIGINAL(chdir, int(const char*))(path);
    hearth::recorder::note_move();
    return result;
}

EXPORT int fchdir(int directory)
{
    const int result = ORIGINAL(fchdir, int(int))(directory);
    hearth::recorder::note_move();
    return result;
}

// Variables.

#define VARIABLE(name)                                                                                                 \
    EXPORT char* name(const char* variable)                                                                            \
    {                                                                                                                  \
        char* const value = ORIGINAL(name, char*(const char*))(variable);                                              \
        note_asked(Asked::variable, variable, value == nullptr ? ENOENT : 0, value);                                   \
        return value;                                                                                                  \
    }
VARIABLE(getenv)
VARIABLE(secure_getenv)
VARIABLE(__secure_getenv)

// Changes.

EXPORT int unlink(const char* path)
{
    return changed(ORIGINAL(unlink, int(const char*))(path), Did::removed, path);
}

EXPORT int unlinkat(int directory, const char* path, int flags)
{
    return changed(ORIGINAL(unlinkat, int(int, const char*, int))(directory, path, flags), Did::removed, path,
                   directory);
}

EXPORT int remove(const char* path)
{
    return changed(ORIGINAL(remove, int(const char*))(path), Did::removed, path);
}

EXPORT int rmdir(const char* path)
{
    return changed(ORIGINAL(rmdir, int(const char*))(path), Did::removed, path);
}

EXPORT int mkdir(const char* path, mode_t mode)
{
    return changed(ORIGINAL(mkdir, int(const char*, mode_t))(path, mode), Did::made, path);
}

EXPORT int mkdirat(int directory, const char* path, mode_t mode)
{
    return changed(ORIGINAL(mkdirat, int(int, const char*, mode_t))(directory, path, mode), Did::made, path, directory);
}

EXPORT int symlink(const char* target, const char* path)
{
    return changed(ORIGINAL(symlink, int(const char*, const char*))(target, path), Did::made, path);
}

EXPORT int link(const char* from, const char* to)
{
    return changed(ORIGINAL(link, int(const char*, const char*))(from, to), Did::made, to);
}

EXPORT int rename(const char* from, const char* to)
{
    const int result = ORIGINAL(rename, int(const char*, const char*))(from, to);
    const int error = errno;
    const Path told_from(from);
    const Path told_to(to);
    if (result == 0)
        note_did(Did::renamed, told_from.text(), told_to.text());
    errno = error;
    return result;
}

#define TRUNCATE(name, type)                                                                                           \
    EXPORT int name(const char* path, type size)                                                                       \
    {                                                                                                                  \
        const int result = ORIGINAL(name, int(const char*, type))(path, size);                                         \
        const int error = errno;                                                                                       \
        if (result == 0)                                                                                               \
            hearth::recorder::note_cut(Path(path).text());                                                             \
        errno = error;                                                                                                 \
        return result;                                                                                                 \
    }
TRUNCATE(truncate, off_t)
TRUNCATE(truncate64, off64_t)

#define TEMPORARY(name)                                                                                                \
    EXPORT int name(char* path)                                                                                        \
    {                                                                                                                  \
        const int result = ORIGINAL(name, int(char*))(path);                                                           \
        return temporary(result, path, result >= 0);                                                                   \
    }
TEMPORARY(mkstemp)
TEMPORARY(mkstemp64)
#define TEMPORARY_1(name)                                                                                              \
    EXPORT int name(char* path, int more)                                                                              \
    {                                                                                                                  \
        const int result = ORIGINAL(name, int(char*, int))(path, more);                                                \
        return temporary(result, path, result >= 0);                                                                   \
    }
TEMPORARY_1(mkostemp)
TEMPORARY_1(mkostemp64)
TEMPORARY_1(mkstemps)
TEMPORARY_1(mkstemps64)

EXPORT char* mkdtemp(char* path)
{
    char* const result = ORIGINAL(mkdtemp, char*(char*))(path);
    return temporary(result, path, result != nullptr, Did::made);
}

// Once a program: what has no name may be called by it.
EXPORT pid_t getpid()
{
    static bool is_noted = false;
    if (!is_noted)
        note_did(Did::numbered, "");
    is_noted = true;
    return ORIGINAL(getpid, pid_t())();
}

// Programs that are started.

// A step of a compiler that can be answered by itself: `hearth exec` does so, and tells our log what it did.
bool hearth::starts::takes(const Program& program)
{
    return program.path != nullptr && hearth::command::names_step(program.path) && hearth::recorder::is_recording() &&
           value_in(program.environment, hearth::watch::k_steps_variable) != nullptr && can_be_replaced(program);
}

hearth::starts::Program hearth::starts::instead(const Program& program, const Stage& stage)
{
    const char* const hearth = value_in(program.environment, hearth::watch::k_steps_variable);
    return through_hearth(hearth, "--step", program, stage);
}

void hearth::starts::searches(const char* file)
{
    hearth::recorder::note_search(file);
}

// Said before the program is replaced.
void hearth::starts::becomes(const char* file)
{
    note_did(Did::starts, Path(file).text());
}

void hearth::starts::stays(const char* file)
{
    const int error = errno;
    note_did(Did::failed, file);
    if (file != nullptr && std::strchr(file, '/') != nullptr)
        note_status(Path(file).text(), error);
}

void hearth::starts::starts(const char* file, int error)
{
    if (error == 0)
        note_did(Did::starts, Path(file).text());
    else
        note_status(Path(file).text(), error);
}

EXPORT int system(const char* command)
{
    if (command != nullptr)
        note_did(Did::starts, "/bin/sh");
    return ORIGINAL(system, int(const char*))(command);
}

EXPORT std::FILE* popen(const char* command, const char* mode)
{
    std::FILE* const result = ORIGINAL(popen, std::FILE * (const char*, const char*))(command, mode);
    if (result != nullptr)
        note_did(Did::starts, "/bin/sh");
    return result;
}

// What it does cannot be held against a later answer.
// NOLINTBEGIN(bugprone-macro-parentheses): the macro's arguments are a list of parameters, and a call's
#define UNANSWERED(name, result, arguments, call)                                                                      \
    EXPORT result name arguments                                                                                       \
    {                                                                                                                  \
        note_unanswered(#name);                                                                                        \
        return ORIGINAL(name, result arguments) call;                                                                  \
    }
UNANSWERED(fexecve, int, (int a, char* const* b, char* const* c), (a, b, c))
UNANSWERED(socket, int, (int a, int b, int c), (a, b, c))
UNANSWERED(shm_open, int, (const char* a, int b, mode_t c), (a, b, c))
UNANSWERED(mknod, int, (const char* a, mode_t b, dev_t c), (a, b, c))
UNANSWERED(mknodat, int, (int a, const char* b, mode_t c, dev_t d), (a, b, c, d))
UNANSWERED(mkfifo, int, (const char* a, mode_t b), (a, b))
UNANSWERED(mkfifoat, int, (int a, const char* b, mode_t c), (a, b, c))
UNANSWERED(tmpfile, std::FILE*, (), ())
UNANSWERED(tmpfile64, std::FILE*, (), ())
UNANSWERED(renameat, int, (int a, const char* b, int c, const char* d), (a, b, c, d))
UNANSWERED(renameat2, int, (int a, const char* b, int c, const char* d, unsigned e), (a, b, c, d, e))
UNANSWERED(linkat, int, (int a, const char* b, int c, const char* d, int e), (a, b, c, d, e))
UNANSWERED(symlinkat, int, (const char* a, int b, const char* c), (a, b, c))
UNANSWERED(getpwuid, void*, (uid_t a), (a))
UNANSWERED(getpwnam, void*, (const char* a), (a))
// Preprocessors ask for these where a text uses __DATE__, __TIME__ or __TIMESTAMP__, and nowhere else.
UNANSWERED(localtime, struct tm*, (const time_t* a), (a))
UNANSWERED(localtime_r, struct tm*, (const time_t* a, struct tm* b), (a, b))
UNANSWERED(nftw, int, (const char* a, __nftw_func_t b, int c, int d), (a, b, c, d))
UNANSWERED(ftw, int, (const char* a, __ftw_func_t b, int c), (a, b, c))
UNANSWERED(fts_open, FTS*, (char* const* a, int b, int (*c)(const FTSENT**, const FTSENT**)), (a, b, c))
UNANSWERED(scandir, int,
           (const char* a, struct dirent*** b, int (*c)(const struct dirent*),
            int (*d)(const struct dirent**, const struct dirent**)),
           (a, b, c, d))
UNANSWERED(chroot, int, (const char* a), (a))
UNANSWERED(iconv_open, iconv_t, (const char* a, const char* b), (a, b))
// NOLINTEND(bugprone-macro-parentheses)

// Our pipes stand where the streams of who started the tree would.
EXPORT int isatty(int descriptor)
{
    const int result = ORIGINAL(isatty, int(int))(descriptor);
    if (result != 0 || !hearth::recorder::stands_for_terminal(descriptor))
        return result;
    errno = 0;
    return 1;
}

// The beginning of every program.

namespace {

int note_object(dl_phdr_info* info, std::size_t /*size*/, void* /*ours*/)
{
    if (info->dlpi_name == nullptr || info->dlpi_name[0] != '/')
        return 0;
    const int descriptor = ORIGINAL(open, int(const char*, int, ...))(info->dlpi_name, O_RDONLY | O_CLOEXEC);
    hearth::watch::TreeRecord record{.did = Did::loaded};
    struct stat status {};
    if (descriptor >= 0 && ::fstat(descriptor, &status) == 0)
        record.mode = status.st_mode;
    hearth::recorder::note(record, info->dlpi_name);
    if (descriptor >= 0)
        ::close(descriptor);
    return 0;
}

// Its arguments, a zero behind each, as far as they can be told.
__attribute__((constructor)) void enter(int count, char** arguments, char** /*environment*/)
{
    if (!hearth::recorder::is_recording())
        return;
    // Who kills the one that stands for the compiler means the compiler.
    if (::getppid() == hearth::recorder::started_by())
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char path[4097];
    const ssize_t size = ORIGINAL(readlink, ssize_t(const char*, char*, std::size_t))("/proc/self/exe", path, 4096);
    path[size > 0 ? size : 0] = '\0';
    char words[16'384];
    std::size_t used = 0;
    for (int i = 0; i < count && arguments != nullptr; ++i) {
        const std::size_t length = std::strlen(arguments[i]) + 1;
        if (length > sizeof words - used)
            break;
        std::memcpy(words + used, arguments[i], length);
        used += length;
    }
    hearth::recorder::note({.did = Did::entered}, path, words, static_cast<ssize_t>(used));
    const char* const libraries = hearth::starts::value_in(environ, "LD_LIBRARY_PATH");
    if (libraries != nullptr && *libraries != '\0')
        hearth::recorder::note({.did = Did::searches}, "", libraries);
    ::dl_iterate_phdr(note_object, nullptr);
}

bool is_absent(const char* path)
{
    return ::syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

void* opened_library(void* result, const char* name)
{
    const int error = errno;
    if (result != nullptr)
        ::dl_iterate_phdr(note_object, nullptr);
    else if (name != nullptr && std::strchr(name, '/') != nullptr && is_absent(name))
        note_status(Path(name).text(), ENOENT);
    else
        note_unanswered("a library that is not there");
    errno = error;
    return result;
}

}  // namespace

EXPORT void* dlopen(const char* name, int flags)
{
    return opened_library(ORIGINAL(dlopen, void*(const char*, int))(name, flags), name);
}

EXPORT void* dlmopen(Lmid_t space, const char* name, int flags)
{
    return opened_library(ORIGINAL(dlmopen, void*(Lmid_t, const char*, int))(space, name, flags), name);
}
