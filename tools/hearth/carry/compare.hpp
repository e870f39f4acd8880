#pragma once

#include "carry/capture.hpp"

#include <string>
#include <vector>

namespace hearth::cli::carry {

struct Changed {
    std::string path;
    std::vector<std::string> what;  // "kind", "content", "time", "mode"
};

struct Differences {
    std::vector<std::string> added;  // only in the directory
    std::vector<Changed> changed;
    std::vector<std::string> gone;  // only in the capture

    bool none() const { return added.empty() && changed.empty() && gone.empty(); }
};

// What has become of a capture in a directory. `now`: the directory, read the same way. The times of folders do not
// count, for whatever is written into a folder changes them, nor do the times of links.
Differences compare(const Capture& then, const Capture& now);

}  // namespace hearth::cli::carry
