#pragma once

#include "base/files.hpp"

namespace hearth::base {

// Opens a regular file that is there, in a place where others may have put something else. It never waits (a pipe would
// wait for its other end, a leased file for its holder), and refuses what is no file: -EISDIR a directory, -ELOOP a
// link, -EINVAL or -ENXIO anything else. `about`: what was opened, from the one stat that this costs.
int open_file(Files& files, At at, int flags, FileStat& about);

}  // namespace hearth::base
