#pragma once

#include <string>
#include <vector>

namespace hearth::cli {

// Finding libraries and programs by looking, without loading or running any of them.

// Where the dynamic loader looks: LD_LIBRARY_PATH, /etc/ld.so.conf and the system's own directories.
std::vector<std::string> loader_directories();

// Where CUDA is: CUDA_HOME, CUDA_PATH, /usr/local/cuda* and what Python and Conda packages bring.
std::vector<std::string> cuda_library_directories();

// Every file whose name matches one of the glob's, once each, by its real path.
std::vector<std::string> files_matching(const std::vector<std::string>& directories, const std::string& glob);

// The first of that name on PATH, or nothing.
std::string program_on_path(const std::string& name);

// A path with its links followed; the path itself where that fails.
std::string real_path(const std::string& path);

// What a shell would expand the pattern to.
std::vector<std::string> expand(const std::string& pattern);

// The file's text, at most 64 KiB of it; empty when it cannot be read.
std::string small_file(const std::string& path);

}  // namespace hearth::cli
