#pragma once

#include "hearth/bytes.hpp"
#include "watch/condition.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A file of dependencies, as compilers write it for make: which files an output was made from. It is kept without the
// paths of the call that wrote it, and given again with those of the call that asks.

namespace hearth::command {

// None if it holds something that could mean another path elsewhere, or to make more than dependencies.
std::optional<Bytes> without_places(std::string_view text, const watch::Places& places,
                                    const std::vector<std::string>& outputs);

// None if `kept` was not made by without_places(), or has outputs that this call has not.
std::optional<std::string> with_places(std::string_view kept, const watch::Places& places,
                                       const std::vector<std::string>& outputs);

}  // namespace hearth::command
