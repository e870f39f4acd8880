#pragma once

#include <string>
#include <vector>

namespace hearth::cli {

// Where the packages lie that a Python program imports: those of `program` first, or of the Python on PATH if it is
// empty. Only files are looked at: no Python runs.
std::vector<std::string> python_package_folders(const std::string& program);

// A sentence, with what to do, for each package called "hearth" that is not this project's, and for each distribution
// that pip knows by that name: another project's, or ours up to 0.2.0, which pip would replace by that.
std::vector<std::string> strangers_called_hearth();

}  // namespace hearth::cli
