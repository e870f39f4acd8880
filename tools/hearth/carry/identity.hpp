#pragma once

#include "carry/capture.hpp"
#include "carry/places.hpp"

#include <string>
#include <vector>

namespace hearth::cli::carry {

// What the user says of it.
struct IdentityOptions {
    std::string target;    // instead of this machine's GPUs
    std::string identity;  // one more fact, of the user's own
    std::string program;   // whose Python's packages count; empty: those of the python on PATH
};

// What the content of a place depends on besides its path: kind of machine, GPUs, versions of the tool and of what it
// compiles with. Only files are looked at; nothing is loaded or run.
std::vector<Fact> identity_of(const Place& place, const IdentityOptions& options);

// A phrase for each fact that differs: `triton is 3.8.0 there and 3.9.0 here`. A version of the tool's own package that
// is not known equals no other, unless the user's own fact is there on both sides and the same.
std::vector<std::string> differences(const Capture& capture, const Place& place, const std::vector<Fact>& here);

}  // namespace hearth::cli::carry
