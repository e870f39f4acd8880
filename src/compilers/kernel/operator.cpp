#include "hearth/operator.hpp"

#include <cstdlib>
#include <string_view>

namespace hearth::detail {

bool disabled_by_environment()
{
    const char* value = std::getenv("HEARTH_DISABLE");
    const std::string_view text = value != nullptr ? value : "";
    return text == "1" || text == "true" || text == "yes" || text == "on";
}

}  // namespace hearth::detail
