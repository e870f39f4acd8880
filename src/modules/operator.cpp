#include "hearth/operator.hpp"

#include "base/text.hpp"

#include <cstdlib>

namespace hearth::detail {

bool disabled_by_environment()
{
    const char* value = std::getenv("HEARTH_DISABLE");
    return value != nullptr && base::parse_bool(value).value_or(false);
}

}  // namespace hearth::detail
