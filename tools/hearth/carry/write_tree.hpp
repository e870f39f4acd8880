#pragma once

#include "carry/capture.hpp"
#include "carry/open_place.hpp"
#include "hearth/tier.hpp"

#include <functional>

namespace hearth::cli::carry {

// What to do with files that are there and differ.
enum class Existing : unsigned char { replace, keep };

struct Written {
    std::uint64_t files = 0;  // and links
    std::uint64_t bytes = 0;
    std::uint64_t same = 0;  // were there already
};

struct WriteOptions {
    Existing existing = Existing::replace;
    bool is_trusted = false;  // the capture carries a trusted signature; otherwise the directory is marked
};

// The bytes of a pack.
using ReadPack = std::function<Result<Bytes>(const Pack&)>;

// Writes a checked capture into a directory; what else is there stays.
//
// Everything is first written to a folder inside the directory that no tool looks into (so it is on the same file
// system), with its modes and times, and synced. Up to there an error, a full disk or a kill leaves the directory as it
// was. Then it is moved into place: a folder that was not there appears whole, in one step, with all that is in it; a
// file that was there is replaced in one step. A kill between two of these steps leaves whole files and folders, and
// the next restore clears away the rest. One restore at a time works in a directory; others wait.
//
// Below a mount inside of the directory nothing can be moved from elsewhere: there files are copied next to their names
// and then moved, one by one.
//
// No link is followed, whoever put it there. Nothing is written into folders of another user.
Result<Written> write_tree(const Capture& capture, const OpenPlace& place, const WriteOptions& options,
                           const ReadPack& read_pack, const Progress& progress);

}  // namespace hearth::cli::carry
