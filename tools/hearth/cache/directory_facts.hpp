#pragma once

#include <cstdint>
#include <string>

namespace hearth::cli {

// What the operating system says about the place where a cache is, or would be created.
struct DirectoryFacts {
    std::string path;
    bool exists = false;
    bool is_directory = false;
    bool writable = false;    // by this user; if it does not exist yet, its nearest existing parent is
    bool ours = false;        // owned by this user
    std::string owner;        // name, or number if there is no name; empty if nothing could be read
    std::string file_system;  // "ext4", "nfs", or its magic number
    enum class Kind : std::uint8_t { local, network, memory, unknown } kind = Kind::unknown;
    std::uint64_t free_bytes = 0;  // to this user
    std::uint64_t total_bytes = 0;
};

DirectoryFacts look_at_directory(const std::string& path);

std::string_view to_string(DirectoryFacts::Kind kind);

// A tenth of what is free, between 1 and 50 GiB.
std::uint64_t recommended_disk_bytes(std::uint64_t free_bytes);
// A sixty-fourth of the machine's memory, between 64 MiB and 1 GiB.
std::uint64_t recommended_memory_bytes();

}  // namespace hearth::cli
