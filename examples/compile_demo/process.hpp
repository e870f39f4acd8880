#pragma once

#include "hearth/result.hpp"

#include <string>
#include <vector>

namespace demo {

struct Finished {
    int status = 0;    // the exit status, or 128 + the signal that ended it
    std::string said;  // what it wrote to standard output and standard error, as it came
};

// Runs a program to its end, in `folder`, with nothing in its environment but PATH and the C locale: a variable that
// changes what a compiler does (CPATH, LANG, ...) would have to be part of the key.
hearth::Result<Finished> run(const std::vector<std::string>& arguments, const std::string& folder);

}  // namespace demo
