#include "build/ptxas_messages.hpp"

#include <algorithm>
#include <cstddef>

namespace hearth::cli {

namespace {

enum class Place : unsigned char { line_start, anywhere };

// Replaces the first name found between `before` and `after`; a line has at most one in each place.
void replace_name(std::string& line, Place place, const std::string& before, const char* after,
                  const std::vector<std::string>& names, const std::vector<std::string>& others)
{
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string whole = before + names[i] + after;
        const std::size_t at =
            place == Place::line_start ? (line.starts_with(whole) ? 0 : std::string::npos) : line.find(whole);
        if (at == std::string::npos)
            continue;
        line.replace(at + before.size(), names[i].size(), others[i]);
        return;
    }
}

}  // namespace

std::string with_other_names(std::string_view messages, std::string_view program, const std::vector<std::string>& names,
                             const std::vector<std::string>& others)
{
    std::string result;
    while (!messages.empty()) {
        const std::size_t end = std::min(messages.find('\n'), messages.size() - 1);
        std::string line(messages.substr(0, end + 1));
        messages.remove_prefix(end + 1);
        replace_name(line, Place::line_start, std::string(program) + " ", ", line ", names, others);
        replace_name(line, Place::anywhere, "file '", "'", names, others);
        result += line;
    }
    return result;
}

}  // namespace hearth::cli
