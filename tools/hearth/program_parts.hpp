#pragma once

#include "program_facts.hpp"

#include <string>
#include <vector>

namespace hearth::cli {

// A library that the dynamic loader opens before the program starts.
struct ProgramLibrary {
    std::string name;  // as it is asked for
    std::string path;  // empty: it was not found
    std::string needed_by;
    ProgramFacts facts;  // of a compiler's own library nothing: it is not looked into
};

// A program as it would be started: found as a shell finds it, through the interpreters of scripts, with its libraries.
struct ProgramParts {
    std::string asked;
    std::vector<std::string> scripts;  // each read by the next one, the last by `path`; usually none
    std::string path;                  // what was looked at
    bool found = false;                // false: `path` is what was looked for
    ProgramFacts facts;
    std::vector<ProgramLibrary> libraries;  // the whole closure, once each
    bool all_libraries = true;              // false: there were more than are ever looked at
};

// Looks only: nothing is loaded or run.
ProgramParts take_apart(const std::string& program);

}  // namespace hearth::cli
