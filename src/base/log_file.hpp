#pragma once

#include <string>
#include <string_view>

namespace hearth::base {

enum class IfNoFile : unsigned char { leave, create };

// Appends a line to a log, in one write. Opened for each line, because lines are rare and programs close descriptors
// that are not theirs. No program waits for its log or ends by it: where the path leads to a pipe, it gets the line if
// somebody reads from it and there is room. A link is followed if it is this user's own or root's: in a directory such
// as /tmp a neighbour can put one, or a pipe, where a log was removed while programs still have its name.
void append_line(const std::string& path, std::string_view line, IfNoFile if_none) noexcept;
// Opens it in the same way, to write, with `flags` besides. Below 0: it cannot be, as errno says.
int open_log(const std::string& path, int flags) noexcept;

}  // namespace hearth::base
