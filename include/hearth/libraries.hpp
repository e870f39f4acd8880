#pragma once

#include "hearth/api.hpp"

#include <string>
#include <vector>

// Finding shared libraries by looking, without loading any of them.

namespace hearth {

class Cache;

// Where a CUDA library may be, in the order it is looked for: CUDA_HOME, CUDA_PATH, where the dynamic loader looks
// (LD_LIBRARY_PATH, /etc/ld.so.conf, the system's own), /usr/local/cuda* and the like, what Python and Conda packages
// bring.
HEARTH_API std::vector<std::string> library_directories();

// The real path of the first of `names` that is found there; in each directory in the order given. Empty: none is.
// Cost: looks no further than it must, and lists no directory.
HEARTH_API std::string find_library(const std::vector<std::string>& names);

// What tells this build of a library or a program from every other: its GNU build-id, or the digest of its content
// where it has none. Remembered in the cache. Empty: the file cannot be read.
HEARTH_API std::string build_of_file(Cache& cache, const std::string& path);

// Where the dynamic loader looks.
HEARTH_API std::vector<std::string> loader_directories();

// Where Python packages are: of the virtual environment, Conda, the user, the system. Patterns, as expand() takes them.
HEARTH_API std::vector<std::string> python_packages();

// Every file whose name matches the glob, once each, by its real path; in the order of the directories, and in one
// directory the highest version first.
HEARTH_API std::vector<std::string> files_matching(const std::vector<std::string>& directories,
                                                   const std::string& glob);

// What a shell would expand the pattern to.
HEARTH_API std::vector<std::string> expand(const std::string& pattern);

}  // namespace hearth
