#pragma once

#include <string>
#include <vector>

// Frameworks of Python programs, which compile by themselves: an adapter for each is in the Python package. Where a
// program imports one, the package's sitecustomize turns its adapter on.

namespace hearth::cli {

// Of the sitecustomize: with the drop-in libraries; in a wheel they are inside of the package. Empty: it is not there.
std::string frameworks_folder();

// Changes this process's environment so that frameworks are served in the Python programs it starts and in their
// children: those that HEARTH_FRAMEWORKS names, all if it is not set, but for those of `without`.
void serve_frameworks(const std::vector<std::string>& without);
void serve_no_frameworks();

// Why none is served in the program that the command starts: a Python that was told to leave its environment alone.
// Empty: they are, as far as can be told.
std::string why_no_frameworks(const std::vector<std::string>& command);

}  // namespace hearth::cli
