#pragma once

#include <map>
#include <string>

namespace hearth::fuzz {

using Inputs = std::map<std::string, std::string>;  // by the name of the file

// One small example of everything that servers send us, and of the files we keep about them; by the name of the fuzzer.
std::map<std::string, Inputs> server_inputs();

}  // namespace hearth::fuzz
