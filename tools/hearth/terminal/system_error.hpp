#pragma once

#include <string>
#include <system_error>

namespace hearth::cli {

// The system's words for an errno: "No such file or directory".
inline std::string system_error(int error)
{
    return std::generic_category().message(error);
}

}  // namespace hearth::cli
