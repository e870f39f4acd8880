#pragma once

#include "hearth/bytes.hpp"
#include "watch/condition.hpp"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// A file of dependencies, as compilers write it for make: which files an output was made from. It is kept without the
// paths of the call that wrote it, and given again with those of the call that asks.

namespace hearth::command {

// None if it holds something that could mean another path elsewhere.
std::optional<Bytes> without_places(std::string_view text, const watch::Places& places,
                                    const std::vector<std::string>& outputs);

// None if `kept` was not made by without_places(), or has outputs that this call has not.
std::optional<std::string> with_places(std::string_view kept, const watch::Places& places,
                                       const std::vector<std::string>& outputs);

// make and ninja build whatever a dependency file names, and who wrote an entry may have made one up. So this is asked
// of each, kept or found: does it say of these targets that they are made from inputs, and nothing else?
bool is_only_dependencies(std::string text, std::span<const std::string> targets,
                          const std::function<bool(const std::string&)>& is_input);

}  // namespace hearth::command
