#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace hearth::cli {

// The manual page of a program with all of its commands, in roff: what their --help shows.
std::string manual_page(const CLI::App& program, const std::string& version);

}  // namespace hearth::cli
