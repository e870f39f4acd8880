#include "starts/through_hearth.hpp"

#include "base/launch_variable.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hearth::starts {

namespace {

constexpr int k_most_words = 4096;

// Where this library and the other drop-ins are, with the last slash.
char g_folder[PATH_MAX];

__attribute__((constructor)) void know_folder()
{
    Dl_info ours{};
    if (::dladdr(g_folder, &ours) == 0 || ours.dli_fname == nullptr || std::strlen(ours.dli_fname) >= sizeof g_folder)
        return;
    std::strcpy(g_folder, ours.dli_fname);
    if (char* const slash = std::strrchr(g_folder, '/'))
        slash[1] = '\0';
}

int count_of(char* const* words)
{
    int count = 0;
    while (words != nullptr && words[count] != nullptr)
        ++count;
    return count;
}

bool is(const char* entry, const char* name)
{
    const std::size_t size = std::strlen(name);
    return std::strncmp(entry, name, size) == 0 && entry[size] == '=';
}

// A list of libraries as it would be without `hearth run`: compilers are watched by other means, and are asked the same
// question whether it is there or not. Null: nothing remains.
char* without_ours(char* entry, char* room)
{
    const char* each = std::strchr(entry, '=') + 1;
    auto used = static_cast<std::size_t>(each - entry);
    std::memcpy(room, entry, used);
    const std::size_t empty = used;
    while (*each != '\0') {
        const auto size = static_cast<std::size_t>(std::strcspn(each, ": "));
        if (std::strncmp(each, g_folder, std::strlen(g_folder)) != 0) {
            if (used > empty)
                room[used++] = ':';
            std::memcpy(room + used, each, size);
            used += size;
        }
        each += size + (each[size] != '\0' ? 1 : 0);
    }
    room[used] = '\0';
    return used > empty ? room : nullptr;
}

// Straight to the system, here and below: these are no questions of the program that is recorded.
bool may_run(const char* path)
{
    return ::syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

// What the system would start: a program, or a script whose interpreter is there. Everything else is the caller's to
// be told by the system.
bool can_be_started(const char* path)
{
    char head[PATH_MAX];
    struct stat status {};
    if (!may_run(path) || ::syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) != 0 || !S_ISREG(status.st_mode))
        return false;
    const long file = ::syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    const long size = file >= 0 ? ::syscall(SYS_read, file, head, sizeof head - 1) : -1;
    if (file >= 0)
        ::syscall(SYS_close, file);
    if (size < 4)
        return false;
    head[size] = '\0';
    if (std::memcmp(head,
                    "\x7f"
                    "ELF",
                    4) == 0)
        return true;
    if (head[0] != '#' || head[1] != '!')
        return false;
    char* const interpreter = head + 2 + std::strspn(head + 2, " \t");
    interpreter[std::strcspn(interpreter, " \t\n")] = '\0';
    return may_run(interpreter);
}

}  // namespace

bool can_be_replaced(const Program& program)
{
    const auto& [path, arguments, environment] = program;
    if (path == nullptr || std::strchr(path, '/') == nullptr || arguments == nullptr || arguments[0] == nullptr)
        return false;
    // A program of many names goes by the one that it is called by.
    const char* const called = std::strrchr(arguments[0], '/');
    return std::strcmp(called != nullptr ? called + 1 : arguments[0], std::strrchr(path, '/') + 1) == 0 &&
           g_folder[0] == '/' && count_of(arguments) <= k_most_words && count_of(environment) <= k_most_words &&
           can_be_started(path);
}

Room room_for(const Program& program)
{
    std::size_t text = 1;
    for (char* const* each = program.environment; *each != nullptr; ++each)
        if (is(*each, "LD_AUDIT") || is(*each, "LD_PRELOAD"))
            text = std::max(text, std::strlen(*each) + 1);
    return {static_cast<std::size_t>(count_of(program.arguments)) + 6,
            static_cast<std::size_t>(count_of(program.environment)) + 1, text};
}

Program through_hearth(const char* hearth, const char* option, const Program& program, const Stage& stage)
{
    static constexpr const char* k_exec = "exec";
    static constexpr const char* k_separator = "--";
    int count = 0;
    for (const char* const word : {hearth, k_exec, option, k_separator, program.path})
        if (word != nullptr)
            stage.arguments[count++] = const_cast<char*>(word);
    for (int i = 1; program.arguments[i] != nullptr; ++i)
        stage.arguments[count++] = program.arguments[i];
    stage.arguments[count] = nullptr;
    count = 0;
    for (char* const* each = program.environment; *each != nullptr; ++each) {
        char* entry = *each;
        if (is(entry, "LD_AUDIT"))
            entry = without_ours(entry, stage.texts[0]);
        else if (is(entry, "LD_PRELOAD"))
            entry = without_ours(entry, stage.texts[1]);
        if (entry != nullptr && !is(entry, base::k_launch_variable))
            stage.environment[count++] = entry;
    }
    stage.environment[count] = nullptr;
    return {hearth, stage.arguments, stage.environment};
}

}  // namespace hearth::starts
