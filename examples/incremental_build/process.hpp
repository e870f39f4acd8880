#pragma once

#include "hearth/result.hpp"

#include <string>
#include <vector>

namespace demo {

// Runs this very program once more, with other arguments, and gives back what it wrote to its standard output. An Error
// when it did not end well; what it had to say about that stands on standard error, which it shares.
hearth::Result<std::string> run_self(const std::vector<std::string>& arguments);

}  // namespace demo
