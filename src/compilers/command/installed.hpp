#pragma once

#include <filesystem>
#include <string>

namespace hearth::command {

// What every machine with the same compiler and the same packages has: what lies below /usr, and the compiler's
// toolkit.
class Installed {
public:
    Installed(const std::string& program, const std::string& working_directory);

    bool has(const std::filesystem::path& path) const;

private:
    std::filesystem::path m_toolkit;
};

}  // namespace hearth::command
