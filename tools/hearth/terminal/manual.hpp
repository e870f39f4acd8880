#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace hearth::cli {

struct ManualPage {
    std::string file;  // "hearth-run.1"
    std::string text;  // in roff
};

// The manual page of a program, which lists its commands, and one for each of them: what their --help shows.
std::vector<ManualPage> manual_pages(const CLI::App& program, const std::string& version);

}  // namespace hearth::cli
