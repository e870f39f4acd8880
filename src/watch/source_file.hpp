#pragma once

#include "format/manifest.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>

// The user's files that a compile reads. Links are followed, as a compiler does.

namespace hearth::watch {

format::FileIdentity identity_of(const struct stat& status);

// None if there is no regular file of that name.
std::optional<format::FileIdentity> identify(const std::string& path);

// The same for many files of few directories: each directory's path is walked once.
class Identifier {
public:
    Identifier() = default;
    ~Identifier();
    Identifier(const Identifier&) = delete;
    Identifier& operator=(const Identifier&) = delete;

    std::optional<format::FileIdentity> operator()(const std::string& path);

private:
    std::map<std::string, int, std::less<>> m_directories;  // descriptors
};

// Whether any change from now on will change the identity. A change within the clock's grain after the last one would
// not.
bool is_settled(const format::FileIdentity& identity);

struct SourceFile {
    std::string text;
    format::FileIdentity identity;
    bool settled = false;  // is_settled() when the text was read
};

// None if it cannot be read, was being written all the time, or is longer than its size says.
std::optional<SourceFile> read_source(const std::string& path);

}  // namespace hearth::watch
