#include "original.hpp"
#include "starts/starts.hpp"
#include "watch/program_search.hpp"

#include <alloca.h>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <spawn.h>
#include <unistd.h>

using hearth::starts::Program;
using hearth::starts::Stage;

namespace {

using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                  char* const*);

auto* original_execve()
{
    return ORIGINAL(execve, int(const char*, char* const*, char* const*));
}

auto* original_execvpe()
{
    return ORIGINAL(execvpe, int(const char*, char* const*, char* const*));
}

auto* original_spawn()
{
    return ORIGINAL(posix_spawn, Spawn);
}

auto* original_spawnp()
{
    return ORIGINAL(posix_spawnp, Spawn);
}

// Between fork() and exec() the loader may not be asked for them any more.
__attribute__((constructor)) void know_originals()
{
    original_execve();
    original_execvpe();
    original_spawn();
    original_spawnp();
}

// NOLINTBEGIN(bugprone-macro-parentheses): the macro declares what its arguments name
#define STAGE(stage, program)                                                                                          \
    const hearth::starts::Room room = hearth::starts::room_for(program);                                               \
    const Stage stage                                                                                                  \
    {                                                                                                                  \
        static_cast<char**>(::alloca(room.arguments * sizeof(char*))),                                                 \
            static_cast<char**>(::alloca(room.environment * sizeof(char*))),                                           \
        {                                                                                                              \
            static_cast<char*>(::alloca(room.text)), static_cast<char*>(::alloca(room.text))                           \
        }                                                                                                              \
    }
// NOLINTEND(bugprone-macro-parentheses)

// Where the other one cannot be started, the program itself is.
__attribute__((noinline)) int become_instead(const Program& program)
{
    STAGE(stage, program);
    const Program other = hearth::starts::instead(program, stage);
    original_execve()(other.path, other.arguments, other.environment);
    return original_execve()(program.path, program.arguments, program.environment);
}

__attribute__((noinline)) int spawn_instead(pid_t* process, const Program& program,
                                            const posix_spawn_file_actions_t* actions,
                                            const posix_spawnattr_t* attributes)
{
    STAGE(stage, program);
    const Program other = hearth::starts::instead(program, stage);
    if (original_spawn()(process, other.path, actions, attributes, other.arguments, other.environment) == 0)
        return 0;
    return original_spawn()(process, program.path, actions, attributes, program.arguments, program.environment);
}

// The file that the C library would find along PATH; null: none, or it is no matter of a search.
const char* find(const char* file, char (&found)[PATH_MAX])
{
    const bool is_name = file != nullptr && *file != '\0' && std::strchr(file, '/') == nullptr;
    return is_name && hearth::watch::find_program(hearth::starts::value_in(environ, "PATH"), file, found) ? found
                                                                                                          : nullptr;
}

int become(const char* file, const Program& program, bool by_search)
{
    const int before = errno;
    char found[PATH_MAX];
    Program meant = program;
    if (by_search) {
        hearth::starts::searches(file);
        if (const char* const path = find(file, found))
            meant.path = path;
    }
    hearth::starts::becomes(file);
    const bool taken = hearth::starts::takes(meant);
    errno = before;
    const int result = taken       ? become_instead(meant)
                       : by_search ? original_execvpe()(file, program.arguments, program.environment)
                                   : original_execve()(file, program.arguments, program.environment);
    const int error = errno;
    hearth::starts::stays(file);
    errno = error;
    return result;
}

int spawn(pid_t* process, const Program& program, const posix_spawn_file_actions_t* actions,
          const posix_spawnattr_t* attributes, bool by_search)
{
    const int before = errno;
    char found[PATH_MAX];
    Program meant = program;
    if (by_search) {
        hearth::starts::searches(program.path);
        if (const char* const path = find(program.path, found))
            meant.path = path;
    }
    // The actions may change the directory that a relative path is meant from.
    const bool is_known = actions == nullptr || (meant.path != nullptr && meant.path[0] == '/');
    const int error = is_known && hearth::starts::takes(meant)
                          ? spawn_instead(process, meant, actions, attributes)
                          : (by_search ? original_spawnp() : original_spawn())(
                                process, program.path, actions, attributes, program.arguments, program.environment);
    hearth::starts::starts(program.path, error);
    errno = before;
    return error;
}

}  // namespace

EXPORT int execve(const char* path, char* const* arguments, char* const* environment)
{
    return become(path, {path, arguments, environment}, false);
}

EXPORT int execv(const char* path, char* const* arguments)
{
    return become(path, {path, arguments, environ}, false);
}

EXPORT int execvp(const char* file, char* const* arguments)
{
    return become(file, {file, arguments, environ}, true);
}

EXPORT int execvpe(const char* file, char* const* arguments, char* const* environment)
{
    return become(file, {file, arguments, environment}, true);
}

// The words that execl() and its kin are given, as the others want them. `rest` ends behind the null.
// NOLINTBEGIN(bugprone-macro-parentheses): the macro declares what its arguments name
#define COLLECT(first, rest, words)                                                                                    \
    va_list counted;                                                                                                   \
    va_start(rest, first);                                                                                             \
    va_copy(counted, rest);                                                                                            \
    std::size_t count = 1;                                                                                             \
    for (const char* each = first; each != nullptr; each = va_arg(counted, const char*))                               \
        ++count;                                                                                                       \
    va_end(counted);                                                                                                   \
    auto** const words = static_cast<char**>(::alloca(count * sizeof(char*)));                                         \
    words[0] = const_cast<char*>(first);                                                                               \
    for (std::size_t i = 1; i < count; ++i)                                                                            \
    words[i] = va_arg(rest, char*)
// NOLINTEND(bugprone-macro-parentheses)

EXPORT int execl(const char* path, const char* first, ...)
{
    va_list rest;
    COLLECT(first, rest, words);
    va_end(rest);
    return become(path, {path, words, environ}, false);
}

EXPORT int execlp(const char* file, const char* first, ...)
{
    va_list rest;
    COLLECT(first, rest, words);
    va_end(rest);
    return become(file, {file, words, environ}, true);
}

EXPORT int execle(const char* path, const char* first, ...)
{
    va_list rest;
    COLLECT(first, rest, words);
    auto** const environment = va_arg(rest, char**);
    va_end(rest);
    return become(path, {path, words, environment}, false);
}

EXPORT int posix_spawn(pid_t* process, const char* path, const posix_spawn_file_actions_t* actions,
                       const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment)
{
    return spawn(process, {path, arguments, environment}, actions, attributes, false);
}

EXPORT int posix_spawnp(pid_t* process, const char* file, const posix_spawn_file_actions_t* actions,
                        const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment)
{
    return spawn(process, {file, arguments, environment}, actions, attributes, true);
}
