#include "watch/recorders.hpp"

#include "watch/recording.hpp"
#include "watch/source_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <tuple>

namespace hearth::watch {

namespace {

// A function's name as a template argument.
template <std::size_t k_size>
struct Name {
    constexpr Name(const char (&letters)[k_size]) { std::copy_n(letters, k_size, text); }
    char text[k_size]{};
};

std::string_view text_of(const char* text)
{
    return text != nullptr ? std::string_view(text) : std::string_view{};
}

// The file behind a descriptor, which is the very one that was opened.
void identify(int descriptor, Event& event)
{
    struct stat status {};
    if (descriptor < 0 || ::fstat(descriptor, &status) != 0)
        return;
    event.mode = status.st_mode;
    event.file = identity_of(status);
}

// A write in the same tick of the clock as the last one leaves a file's stamps as they are. So a file that was written
// just now is given to the compiler once that tick is over: from then on a change shows.
void wait_for_the_tick(const FileIdentity& file)
{
    static constexpr int k_most_waits = 20;
    static constexpr timespec k_millisecond{0, 1'000'000};
    const std::int64_t stamp = std::max(file.modified_ns, file.changed_ns);
    for (int i = 0; i < k_most_waits && stamp >= stamping_clock(); ++i)
        ::nanosleep(&k_millisecond, nullptr);
}

void note_open(const char* path, bool writes, int descriptor, int error)
{
    Event event{
        .asked = writes ? Asked::unanswered : Asked::file, .error = descriptor < 0 ? error : 0, .name = text_of(path)};
    identify(descriptor, event);
    if (S_ISDIR(event.mode))
        event.asked = Asked::directory;
    if (S_ISREG(event.mode)) {
        wait_for_the_tick(event.file);
        identify(descriptor, event);
    }
    note(event);
}

// What each kind of function tells. `k_path`: which argument is the path.
template <std::size_t k_path>
struct Status {
    template <class R, class... A>
    static void after(R result, int error, A... arguments)
    {
        const char* const path = std::get<k_path>(std::tie(arguments...));
        Event event{.asked = Asked::status, .error = result == 0 ? 0 : error, .name = text_of(path)};
        struct stat status {};
        if (result == 0 && ::stat(path, &status) == 0) {
            event.mode = status.st_mode;
            event.file = identity_of(status);
        }
        note(event);
    }
};

struct Open {
    static void after(int result, int error, const char* path, int flags, mode_t /*mode*/)
    {
        note_open(path, (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0, result, error);
    }
};

struct OpenStream {
    static void after(std::FILE* result, int error, const char* path, const char* mode)
    {
        const std::string_view how = text_of(mode);
        note_open(path, how.find_first_of("wa+") != std::string_view::npos, result != nullptr ? ::fileno(result) : -1,
                  error);
    }
};

struct OpenDirectory {
    static void after(DIR* result, int error, const char* path)
    {
        Event event{.asked = Asked::directory, .error = result == nullptr ? error : 0, .name = text_of(path)};
        identify(result != nullptr ? ::dirfd(result) : -1, event);
        note(event);
    }
};

struct ReadLink {
    static void after(ssize_t result, int error, const char* path, char* out, std::size_t /*size*/)
    {
        note({.asked = Asked::link,
              .error = result < 0 ? error : 0,
              .name = text_of(path),
              .answer = result > 0 ? std::string_view(out, static_cast<std::size_t>(result)) : std::string_view{}});
    }
};

struct RealPath {
    static void after(char* result, int error, const char* path, char* /*out*/)
    {
        note({.asked = Asked::real_path,
              .error = result == nullptr ? error : 0,
              .name = text_of(path),
              .answer = text_of(result)});
    }
};

struct WorkingDirectory {
    static void after(char* result, int error, char* /*out*/, std::size_t /*size*/)
    {
        note({.asked = Asked::where, .error = result == nullptr ? error : 0, .answer = text_of(result)});
    }
};

struct Variable {
    static void after(char* result, int /*error*/, const char* name)
    {
        note({.asked = Asked::variable,
              .error = result == nullptr ? ENOENT : 0,
              .name = text_of(name),
              .answer = text_of(result)});
    }
};

struct LoadLibrary {
    static void after(void* result, int /*error*/, const char* path, int /*flags*/)
    {
        note({.asked = Asked::library, .error = result == nullptr ? ENOENT : 0, .name = text_of(path)});
    }
};

// What it does cannot be held against a later answer: other programs, other files, another user's name. It is noted
// before the call, which may not come back.
template <Name k_name>
struct Unanswered {
    template <class... A>
    static void before(A... /*arguments*/)
    {
        note({.asked = Asked::unanswered, .name = k_name.text});
    }
};

struct SystemCall {
    static void before(long number, long /*a*/, long /*b*/, long /*c*/, long /*d*/, long /*e*/, long /*f*/)
    {
        if (number != SYS_gettid && number != SYS_futex && number != SYS_getcpu && number != SYS_sched_getaffinity)
            note({.asked = Asked::unanswered, .name = "syscall"});
    }
};

template <Name k_name, class Tells, class Signature>
struct Stand;

template <Name k_name, class Tells, class R, class... A>
struct Stand<k_name, Tells, R(A...)> {
    static inline std::atomic<void*> original{nullptr};

    // Not noexcept: a thread that is cancelled leaves by way of this frame.
    static R call(A... arguments)
    {
        // acquire: pairs with the release of whoever put this function into a slot.
        auto* const function = reinterpret_cast<R (*)(A...)>(original.load(std::memory_order_acquire));
        if constexpr (requires { Tells::before(arguments...); }) {
            const int error = errno;
            Tells::before(arguments...);
            errno = error;
            return function(arguments...);
        } else {
            R result = function(arguments...);
            const int error = errno;
            Tells::after(result, error, arguments...);
            errno = error;
            return result;
        }
    }
};

template <Name k_name, class Tells, class Signature>
Recorder row()
{
    using Standing = Stand<k_name, Tells, Signature>;
    static constexpr auto k_text = k_name;
    return {k_text.text, reinterpret_cast<void*>(&Standing::call), &Standing::original};
}

template <Name k_name, class Signature>
Recorder unanswered()
{
    return row<k_name, Unanswered<k_name>, Signature>();
}

using Path = const char*;

// Every function that is watched. Variadic ones are called with all arguments they may have: the binary interfaces of
// both processors pass those as they pass the named ones.
const std::array k_recorders{
    row<"open", Open, int(Path, int, mode_t)>(),
    row<"open64", Open, int(Path, int, mode_t)>(),
    row<"fopen", OpenStream, std::FILE*(Path, const char*)>(),
    row<"fopen64", OpenStream, std::FILE*(Path, const char*)>(),
    row<"opendir", OpenDirectory, DIR*(Path)>(),
    row<"access", Status<0>, int(Path, int)>(),
    row<"stat", Status<0>, int(Path, void*)>(),
    row<"stat64", Status<0>, int(Path, void*)>(),
    row<"lstat", Status<0>, int(Path, void*)>(),
    row<"lstat64", Status<0>, int(Path, void*)>(),
    row<"statfs", Status<0>, int(Path, void*)>(),
    row<"__xstat", Status<1>, int(int, Path, void*)>(),
    row<"__xstat64", Status<1>, int(int, Path, void*)>(),
    row<"__lxstat", Status<1>, int(int, Path, void*)>(),
    row<"__lxstat64", Status<1>, int(int, Path, void*)>(),
    row<"readlink", ReadLink, ssize_t(Path, char*, std::size_t)>(),
    row<"realpath", RealPath, char*(Path, char*)>(),
    row<"getcwd", WorkingDirectory, char*(char*, std::size_t)>(),
    row<"getenv", Variable, char*(const char*)>(),
    row<"secure_getenv", Variable, char*(const char*)>(),
    row<"__secure_getenv", Variable, char*(const char*)>(),
    row<"dlopen", LoadLibrary, void*(Path, int)>(),
    row<"syscall", SystemCall, long(long, long, long, long, long, long, long)>(),
    unanswered<"openat", int(int, Path, int, mode_t)>(),
    unanswered<"openat64", int(int, Path, int, mode_t)>(),
    unanswered<"fstatat", int(int, Path, void*, int)>(),
    unanswered<"fstatat64", int(int, Path, void*, int)>(),
    unanswered<"statx", int(int, Path, int, unsigned, void*)>(),
    unanswered<"readlinkat", ssize_t(int, Path, char*, std::size_t)>(),
    unanswered<"faccessat", int(int, Path, int, int)>(),
    unanswered<"freopen", std::FILE*(Path, const char*, std::FILE*)>(),
    unanswered<"freopen64", std::FILE*(Path, const char*, std::FILE*)>(),
    unanswered<"chdir", int(Path)>(),
    unanswered<"fork", pid_t()>(),
    unanswered<"execv", int(Path, char* const*)>(),
    unanswered<"execve", int(Path, char* const*, char* const*)>(),
    unanswered<"execvp", int(Path, char* const*)>(),
    unanswered<"system", int(const char*)>(),
    unanswered<"popen", std::FILE*(const char*, const char*)>(),
    unanswered<"mkdir", int(Path, mode_t)>(),
    unanswered<"rmdir", int(Path)>(),
    unanswered<"unlink", int(Path)>(),
    unanswered<"mkstemp", int(char*)>(),
    unanswered<"remove", int(Path)>(),
    unanswered<"rename", int(Path, Path)>(),
    unanswered<"link", int(Path, Path)>(),
    unanswered<"symlink", int(Path, Path)>(),
    unanswered<"chmod", int(Path, mode_t)>(),
    unanswered<"gethostname", int(char*, std::size_t)>(),
    unanswered<"uname", int(void*)>(),
    unanswered<"setlocale", char*(int, const char*)>(),
    unanswered<"getpwnam", void*(const char*)>(),
    unanswered<"getpwuid", void*(uid_t)>(),
    unanswered<"getpwnam_r", int(const char*, void*, char*, std::size_t, void**)>(),
    unanswered<"getpwuid_r", int(uid_t, void*, char*, std::size_t, void**)>(),
};

// What asks nothing: memory, text, numbers, threads, clocks, signals, and what is done with a descriptor that a
// recorder saw opened. (The time is asked for in every compile, and says nothing of whether the output holds it.) By
// their beginnings...
constexpr std::array<std::string_view, 21> k_families{
    "_ITM_", "_ZGTt", "__cxa_", "__isoc99_", "__mem", "__nvrtc_builtins_", "__pthread_", "__sched_cpu", "__stack_chk_",
    "__str", "__wcs", "iconv",  "mbs",       "mem",   "pthread_",          "sched_",     "sem_",        "sig",
    "str",   "wcs",   "wmem"};
// ...and by their names, in order.
constexpr std::array<std::string_view, 189> k_nothing{"_IO_getc",
                                                      "_IO_putc",
                                                      "__ctype_get_mb_cur_max",
                                                      "__duplocale",
                                                      "__errno_location",
                                                      "__freelocale",
                                                      "__fxstat",
                                                      "__fxstat64",
                                                      "__getauxval",
                                                      "__gmon_start__",
                                                      "__isnan",
                                                      "__iswctype_l",
                                                      "__longjmp_chk",
                                                      "__newlocale",
                                                      "__nl_langinfo_l",
                                                      "__sprintf_chk",
                                                      "__tls_get_addr",
                                                      "__towlower_l",
                                                      "__towupper_l",
                                                      "__uselocale",
                                                      "__vsprintf_chk",
                                                      "__wctype_l",
                                                      "_exit",
                                                      "_setjmp",
                                                      "abort",
                                                      "acos",
                                                      "alarm",
                                                      "aligned_alloc",
                                                      "asin",
                                                      "atan",
                                                      "atan2",
                                                      "bind_textdomain_codeset",
                                                      "bindtextdomain",
                                                      "bsearch",
                                                      "btowc",
                                                      "calloc",
                                                      "ceil",
                                                      "clock",
                                                      "clock_gettime",
                                                      "close",
                                                      "closedir",
                                                      "cos",
                                                      "cosh",
                                                      "ctime",
                                                      "dgettext",
                                                      "difftime",
                                                      "dl_iterate_phdr",
                                                      "dlclose",
                                                      "dlerror",
                                                      "dlsym",
                                                      "dup",
                                                      "dup2",
                                                      "erf",
                                                      "exit",
                                                      "exp",
                                                      "exp2",
                                                      "expf",
                                                      "fabs",
                                                      "fclose",
                                                      "fcntl",
                                                      "fdopen",
                                                      "feclearexcept",
                                                      "fegetenv",
                                                      "feof",
                                                      "ferror",
                                                      "fesetenv",
                                                      "fetestexcept",
                                                      "fflush",
                                                      "fgetc",
                                                      "fgets",
                                                      "fileno",
                                                      "floor",
                                                      "floorl",
                                                      "fmod",
                                                      "fprintf",
                                                      "fputc",
                                                      "fputs",
                                                      "fread",
                                                      "free",
                                                      "freelocale",
                                                      "frexpl",
                                                      "fscanf",
                                                      "fseek",
                                                      "fseeko64",
                                                      "fstatfs",
                                                      "ftell",
                                                      "ftello64",
                                                      "ftruncate",
                                                      "fwrite",
                                                      "get_nprocs",
                                                      "getc",
                                                      "geteuid",
                                                      "getpagesize",
                                                      "getpid",
                                                      "getrlimit",
                                                      "getrusage",
                                                      "gettext",
                                                      "gettimeofday",
                                                      "getuid",
                                                      "getwc",
                                                      "ioctl",
                                                      "isalnum",
                                                      "isalpha",
                                                      "isatty",
                                                      "iscntrl",
                                                      "islower",
                                                      "isprint",
                                                      "ispunct",
                                                      "isspace",
                                                      "isupper",
                                                      "isxdigit",
                                                      "kill",
                                                      "localtime_r",
                                                      "log",
                                                      "log10",
                                                      "log1p",
                                                      "log2",
                                                      "log2f",
                                                      "logb",
                                                      "longjmp",
                                                      "lseek",
                                                      "lseek64",
                                                      "mallinfo",
                                                      "malloc",
                                                      "mbrtowc",
                                                      "mmap",
                                                      "modf",
                                                      "munmap",
                                                      "nanosleep",
                                                      "newlocale",
                                                      "nextafter",
                                                      "perror",
                                                      "pipe",
                                                      "poll",
                                                      "posix_madvise",
                                                      "posix_memalign",
                                                      "pow",
                                                      "printf",
                                                      "putc",
                                                      "putchar",
                                                      "puts",
                                                      "putwc",
                                                      "qsort",
                                                      "raise",
                                                      "rand",
                                                      "rand_r",
                                                      "read",
                                                      "readdir",
                                                      "realloc",
                                                      "rewind",
                                                      "round",
                                                      "select",
                                                      "setenv",
                                                      "setrlimit",
                                                      "setsid",
                                                      "setvbuf",
                                                      "sin",
                                                      "sinh",
                                                      "snprintf",
                                                      "sprintf",
                                                      "sqrt",
                                                      "srand",
                                                      "sscanf",
                                                      "stderr",
                                                      "stdin",
                                                      "stdout",
                                                      "stpcpy",
                                                      "sysconf",
                                                      "tan",
                                                      "tanh",
                                                      "time",
                                                      "tolower",
                                                      "toupper",
                                                      "trunc",
                                                      "ungetc",
                                                      "ungetwc",
                                                      "uselocale",
                                                      "usleep",
                                                      "vfprintf",
                                                      "vprintf",
                                                      "vsnprintf",
                                                      "vsprintf",
                                                      "wait",
                                                      "wait4",
                                                      "waitpid",
                                                      "wcrtomb",
                                                      "wctob",
                                                      "write",
                                                      "writev"};
static_assert(std::is_sorted(k_nothing.begin(), k_nothing.end()));

}  // namespace

const Recorder* recorder_of(std::string_view name)
{
    const auto found = std::find_if(k_recorders.begin(), k_recorders.end(),
                                    [&](const Recorder& recorder) { return name == recorder.name; });
    return found != k_recorders.end() ? &*found : nullptr;
}

bool asks_nothing(std::string_view name)
{
    return std::binary_search(k_nothing.begin(), k_nothing.end(), name) ||
           std::any_of(k_families.begin(), k_families.end(),
                       [&](std::string_view family) { return name.starts_with(family); });
}

}  // namespace hearth::watch
