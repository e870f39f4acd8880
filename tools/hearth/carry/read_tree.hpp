#pragma once

#include "carry/capture.hpp"
#include "carry/open_place.hpp"
#include "carry/packer.hpp"
#include "hearth/tier.hpp"

namespace hearth::cli::carry {

// What a directory holds, as far as it can be carried.
struct Tree {
    std::vector<Item> items;  // sorted by path; their pieces are the packer's
    struct LeftOut {
        std::string path;
        std::string why;
    };
    std::vector<LeftOut> left_out;
    std::uint64_t bytes = 0;
};

// What to do with a directory that has the mark of a restore without a trusted signature: what is signed must not come
// from it.
enum class Marked : unsigned char { take, refuse };

// Reads a directory while others may write it. A file is taken only if it was whole: it did not change while it was
// read, and nobody had it open for writing. A folder whose names change is listed again. What does not come to rest is
// left out. Locks and temporary files of the tools are left out too, and so is what is no file, folder or link inside,
// what belongs to another user, and caches of Hearth.
Result<Tree> read_tree(const OpenPlace& place, Marked marked, Packer& packer, const Bounds& bounds,
                       const Progress& progress);

}  // namespace hearth::cli::carry
