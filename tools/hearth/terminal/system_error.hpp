#pragma once

#include <string>
#include <system_error>

namespace hearth::cli {

// What the system says of an errno: "No such file or directory".
inline std::string system_error(int error)
{
    return std::generic_category().message(error);
}

}  // namespace hearth::cli
