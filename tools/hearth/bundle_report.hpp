#pragma once

#include "hearth/bundle.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace hearth::cli {

// What a bundle says of itself.
void print_facts(const std::string& file, const bundles::Facts& facts);
nlohmann::ordered_json facts_as_json(const std::string& file, const bundles::Facts& facts);

// What was written, its problems as warnings; answers the exit code. `more` is added to the line, or to the object.
int print_written(const std::string& file, const bundles::WriteReport& report, const std::string& more,
                  const nlohmann::ordered_json* json);

}  // namespace hearth::cli
