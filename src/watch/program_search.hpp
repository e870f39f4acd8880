#pragma once

#include <climits>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Which file a program's name means, along a list of directories such as PATH. By system calls of its own: it is used
// where libc's functions are watched. Nothing of the C++ library.

namespace hearth::watch {

// Each candidate, and whether it is there, until `visit` says that this was enough. Directories that are empty or
// relative mean the working directory.
template <class Visit>
void for_each_candidate(const char* directories, const char* name, Visit visit)
{
    char candidate[PATH_MAX];
    const std::size_t rest = std::strlen(name) + 1;
    while (directories != nullptr) {
        const char* const end = ::strchrnul(directories, ':');
        const auto size = static_cast<std::size_t>(end - directories);
        if (size + 1 + rest <= sizeof candidate) {
            std::memcpy(candidate, directories, size);
            const std::size_t at = size == 0 ? 0 : size + 1;
            if (size != 0)
                candidate[size] = '/';
            std::memcpy(candidate + at, name, rest);
            struct stat status {};
            const bool there = ::syscall(SYS_faccessat, AT_FDCWD, candidate, X_OK) == 0 &&
                               ::syscall(SYS_newfstatat, AT_FDCWD, candidate, &status, 0) == 0 &&
                               S_ISREG(status.st_mode);
            if (visit(static_cast<const char*>(candidate), there))
                return;
        }
        directories = *end == ':' ? end + 1 : nullptr;
    }
}

// False: there is none.
inline bool find_program(const char* directories, const char* name, char (&found)[PATH_MAX])
{
    bool is_there = false;
    for_each_candidate(directories, name, [&](const char* candidate, bool there) {
        if (there)
            std::strcpy(found, candidate);
        return is_there = there;
    });
    return is_there;
}

}  // namespace hearth::watch
