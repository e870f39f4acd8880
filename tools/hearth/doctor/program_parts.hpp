#pragma once

#include "doctor/program_facts.hpp"

#include <string>
#include <vector>

namespace hearth::cli {

// A library that the dynamic loader opens before the program starts.
struct ProgramLibrary {
    std::string name;  // as it is asked for
    std::string path;  // empty: it was not found
    std::string needed_by;
    ProgramFacts facts;      // empty for a compiler's own library, which is not looked into
    std::string left_alone;  // why `hearth run` would not replace it, though it is a compiler's; usually empty
};

// A program as it would be started: found as a shell finds it, through the interpreters of scripts, with its libraries.
struct ProgramParts {
    std::string asked;
    std::vector<std::string> scripts;  // each read by the next one, the last by `path`; usually none
    std::string path;                  // what was looked at
    bool found = false;                // false: `path` is what was looked for
    ProgramFacts facts;
    std::string not_executable;             // the script or program that this user may not execute; usually empty
    std::vector<ProgramLibrary> libraries;  // as the loader finds them, each once
    std::string loader_problem;             // what keeps the loader from loading it, in its words
};

// Runs nothing of the program. This machine's loader is asked which libraries it would load, and the auditor in
// `dropin` says what it would do.
ProgramParts take_apart(const std::string& program, const std::string& dropin);

}  // namespace hearth::cli
