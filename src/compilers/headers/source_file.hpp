#pragma once

#include "format/manifest.hpp"

#include <optional>
#include <string>

// Files of the user's that a compile reads. Links are followed, as a compiler does.

namespace hearth::compilers {

// None when there is no regular file of that name.
std::optional<format::FileIdentity> identify(const std::string& path);

struct SourceFile {
    std::string text;
    format::FileIdentity identity;
    // Whether the identity will tell of any later change: one made within the clock's grain of the last would not show.
    bool settled = false;
};

// None when it cannot be read, or was being written all the while.
std::optional<SourceFile> read_source(const std::string& path);

}  // namespace hearth::compilers
