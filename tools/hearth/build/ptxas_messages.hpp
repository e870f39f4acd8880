#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli {

// What ptxas wrote, with the inputs' `names` replaced by `others`, one for one. Names stand in two places: at the start
// of a line, "ptxas NAME, line 5; error   : ...", where ptxas is the `program`'s own name, and as "... at start of file
// 'NAME'". The same letters elsewhere are not names, and stay.
std::string with_other_names(std::string_view messages, std::string_view program, const std::vector<std::string>& names,
                             const std::vector<std::string>& others);

}  // namespace hearth::cli
