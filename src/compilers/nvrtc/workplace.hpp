#pragma once

#include "hearth/nvrtc.hpp"
#include "recipes/header_tree.hpp"
#include "recipes/recipe_data.hpp"

#include <string>

namespace hearth::nvrtc {

// Where a recipe can be compiled with the recorded request: a program whose paths lead into a tree of its headers, and
// the directory to compile it in.
struct Workplace {
    Program program;  // for the target it was recorded for
    std::string working_directory;
};

// Below the root of the tree, headers go where they were: beside the program, in the include directories, in the
// working directory. So they are found in the same order, under the same labels.
//
// A path that the output may hold must not change: it is used as it is, if the same file is there on this machine. An
// error says why the recipe cannot be compiled here; Code::unavailable: this machine lacks something.
Result<Workplace> lay_out(const format::Recipe& recipe, const recipes::Recipes::Data& data, recipes::HeaderTree& tree);

// The program as it was given, with the paths it had.
Result<Program> recorded_program(const format::Recipe& recipe, const recipes::Recipes::Data& data);

}  // namespace hearth::nvrtc
