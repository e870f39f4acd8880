#pragma once

#include "front.hpp"
#include "sources.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace demo {

struct BuildReport {
    std::vector<std::string> files;
    std::vector<Ir> ir;                 // of each file
    std::vector<std::string> compiled;  // the files that had to be
    std::size_t from_vram = 0;
    std::size_t from_disk = 0;
    std::chrono::nanoseconds time{0};  // from the first source that was read to the program's result
    std::int64_t result = 0;           // what main() gave back
};

// Reads the sources, gets the IR of each module from the cache or compiles it, links all of it and runs main(). Without
// a cache everything is compiled.
hearth::Result<BuildReport> build(Sources& sources, IrCache* cache);

// Empty when both gave the same IR, byte for byte, and the same result; otherwise a sentence.
std::string difference(const BuildReport& one, const BuildReport& other);

}  // namespace demo
