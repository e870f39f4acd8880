#pragma once

#include <string>
#include <vector>

// How the processes of a `hearth run` learn that it is ready: by a file, HEARTH_READY_FILE, that is there from then on.
// Whoever can make such a file decides over the compiles of a run. So it lies in a folder that only this user can
// write, in the cache directory or else the temporary folder; and of processes only those of this user are looked at.

namespace hearth::cli {

// A name for the file of a new run. Marks of runs that are long gone are removed. Empty: no folder could be made.
std::string new_ready_file(const std::string& cache_directory);
// Whether it is a name that new_ready_file() gave.
bool is_ready_file(const std::string& path);

// A run of this user on this machine.
struct FoundRun {
    int pid = 0;  // of one of its processes, the one with the lowest number
    std::string file;
};

std::vector<FoundRun> find_runs();
// The run that a process of this user started or is part of. Its file is empty: none, or another user's.
FoundRun run_of(int pid);

// Makes the file where that process sees it: it may have another root, as in a container. 0, or errno.
int mark_ready(const FoundRun& run);

}  // namespace hearth::cli
