#pragma once

#include <cstdint>

namespace hearth::watch {

// If a file's identity is the same, so is its content: every write sets its time of change.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;

    friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

}  // namespace hearth::watch
