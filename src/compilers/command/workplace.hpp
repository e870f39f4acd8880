#pragma once

#include "recipes/recipe_data.hpp"
#include "watch/condition.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hearth::command {

// Where a recorded command is run, and its words there.
struct Workplace {
    std::string working_directory;
    std::vector<std::string> words;
};

// Lays out the files of a recipe below `scratch`, an empty directory, unless paths matter: then they have to be where
// they were. Outputs that the command's own words name are below `scratch` either way. `conditions`: those of the
// recorded result; none: it is not known what the command reads, and it is built where everything is.
// An Error says why it cannot be built here; Code::io: something went wrong.
Result<Workplace> lay_out(const format::Recipe& recipe, const recipes::Recipes::Data& data,
                          const std::optional<std::vector<watch::Condition>>& conditions, const std::string& scratch);

}  // namespace hearth::command
