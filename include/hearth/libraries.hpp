#pragma once

#include "hearth/api.hpp"

#include <string>
#include <vector>

// Finds shared libraries without loading any of them.

namespace hearth {

class Cache;

// The directories that are searched for CUDA libraries, in this order: CUDA_HOME, CUDA_PATH, those of the dynamic
// loader (LD_LIBRARY_PATH, /etc/ld.so.conf, the system's own), /usr/local/cuda* and the like, those of Python and Conda
// packages.
HEARTH_API std::vector<std::string> library_directories();

// The real path of the first library found there. Each directory is searched for all of `names`, in the order given,
// before the next one. Empty: none is there. Cost: stops at the first one, and lists no directory.
HEARTH_API std::string find_library(const std::vector<std::string>& names);

// What tells this build of a library or a program from every other: its GNU build-id, or, if it has none, the digest of
// its content. Remembered in the cache. Empty: the file cannot be read.
HEARTH_API std::string build_of_file(Cache& cache, const std::string& path);

// Why Hearth cannot see what this compiler library reads, as a phrase; empty: it can. Results of one that cannot be
// watched are not kept. Read from its file, without loading it.
HEARTH_API std::string why_not_watched(const std::string& library);

// Where the dynamic loader looks.
HEARTH_API std::vector<std::string> loader_directories();

// Where Python packages are: those of the virtual environment, of Conda, of the user and of the system. These are
// patterns for expand().
HEARTH_API std::vector<std::string> python_packages();

// Every file whose name matches the glob, once each, by its real path. They come in the order of the directories, and
// within one directory the highest version comes first.
HEARTH_API std::vector<std::string> files_matching(const std::vector<std::string>& directories,
                                                   const std::string& glob);

// What a shell would expand the pattern to.
HEARTH_API std::vector<std::string> expand(const std::string& pattern);

}  // namespace hearth
