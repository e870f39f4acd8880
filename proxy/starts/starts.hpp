#pragma once

#include <climits>
#include <cstddef>
#include <cstring>

// What happens when a program starts another one: exec_calls.cpp stands before exec and posix_spawn in all their forms,
// and asks the functions below, of which each library that is preloaded has its own. They run where hardly anything is
// allowed, between vfork() and exec(): no lock, no allocation, nothing of the C++ library, errno untouched.

namespace hearth::starts {

struct Program {
    const char* path;
    char* const* arguments;
    char* const* environment;
};

// Of a variable in an environment. Not by getenv(), which may be watched.
inline const char* value_in(char* const* environment, const char* name)
{
    const std::size_t size = std::strlen(name);
    for (; environment != nullptr && *environment != nullptr; ++environment)
        if (std::strncmp(*environment, name, size) == 0 && (*environment)[size] == '=')
            return *environment + size + 1;
    return nullptr;
}

// Room for another program's words, on the stack of who starts it, which may be small.
struct Stage {
    char** arguments;
    char** environment;
    char* texts[2];
};
// How much of each it takes.
struct Room {
    std::size_t arguments;
    std::size_t environment;
    std::size_t text;
};
Room room_for(const Program& program);

// Whether another program is to be started in its place. Its path is whole enough to be found.
bool takes(const Program& program);
// Which one. What it consists of lies in the stage, or is the caller's.
Program instead(const Program& program, const Stage& stage);

void searches(const char* file);           // along PATH, up to the one that is there
void becomes(const char* file);            // is about to, by exec
void stays(const char* file);              // has not, after all
void starts(const char* file, int error);  // has, by posix_spawn: 0, or has not

}  // namespace hearth::starts
