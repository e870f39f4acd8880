#include "error.hpp"

#include <algorithm>

namespace eph {

std::string describe(const CompileError& error, std::string_view file, std::string_view source)
{
    const std::string_view before = source.substr(0, error.at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    return std::string(file) + ":" + std::to_string(line) + ":" + std::to_string(column) + ": error: " + error.message;
}

}  // namespace eph
