#pragma once

#include <compare>
#include <cstdint>

namespace hearth::watch {

// If a file's identity is the same, so is its content: every write sets its time of change.
struct FileIdentity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::uint64_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;

    friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;
};

// Which file it is, whatever it holds.
struct FileKey {
    std::uint64_t device;
    std::uint64_t inode;
    friend auto operator<=>(const FileKey&, const FileKey&) = default;
};

}  // namespace hearth::watch
