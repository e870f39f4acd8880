#pragma once

#include "compiler.hpp"

#include "hearth/cache.hpp"
#include "hearth/vram.hpp"

#include <chrono>

namespace eph {

// A cache for IR: in device memory, and in a directory for the next process.
// Without a GPU the device memory is the host's. Without a usable directory less is found, and all else is the same.
hearth::Cache open_cache(const std::string& directory, hearth::device::Backend backend);

// The modules whose sources lie in a folder, by name.
std::map<std::string, Unit> read_units(const std::string& folder);

struct Build {
    std::map<std::string, hearth::Bytes> ir;  // of each module
    std::vector<std::string> compiled;        // modules
    std::size_t from_vram = 0;
    std::size_t from_disk = 0;
    std::uint64_t result = 0;                          // of main
    std::chrono::duration<double, std::milli> time{};  // from the first source that is read to the result
};

// Reads the sources, gets every module's IR from the cache or compiles it, links and runs. Without a cache everything
// is compiled. Throws a Problem.
Build build(const std::string& folder, hearth::Cache* cache);

}  // namespace eph
