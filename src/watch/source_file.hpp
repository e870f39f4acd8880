#pragma once

#include "watch/file_identity.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>

// The user's files that a compile reads. Links are followed, as a compiler does.

namespace hearth::watch {

FileIdentity identity_of(const struct stat& status);

// None if there is no regular file of that name.
std::optional<FileIdentity> identify(const std::string& path);

// The same for many files of few directories: each directory's path is walked once.
class Identifier {
public:
    Identifier() = default;
    ~Identifier();
    Identifier(const Identifier&) = delete;
    Identifier& operator=(const Identifier&) = delete;

    std::optional<FileIdentity> operator()(const std::string& path);

private:
    struct Directory {
        int fd = -1;
        bool on_network = false;
    };
    std::map<std::string, Directory, std::less<>> m_directories;
};

// Whether any change from now on will change the identity. A change within the clock's grain after the last one would
// not.
bool is_settled(const FileIdentity& identity);

// Whether an open file is on a file system that a server keeps.
bool is_on_network(int fd);

struct SourceFile {
    std::string text;
    FileIdentity identity;
    bool settled = false;  // when the text was read: any change since, through a mapping too, has changed the identity
};

// None if it cannot be read, was being written all the time, or is longer than its size says.
std::optional<SourceFile> read_source(const std::string& path);

}  // namespace hearth::watch
