#include "compilers/command/installed.hpp"

namespace hearth::command {

namespace {

bool is_below(const std::filesystem::path& path, const std::filesystem::path& directory)
{
    const std::filesystem::path relative = path.lexically_normal().lexically_relative(directory);
    return !relative.empty() && *relative.begin() != "..";
}

}  // namespace

Installed::Installed(const std::string& program, const std::string& working_directory)
{
    std::error_code error;
    const std::filesystem::path bin = std::filesystem::canonical(program, error).parent_path();
    // A compiler in a folder of the user's own does not make everything beside it a toolkit.
    if (bin.filename() == "bin" && !is_below(working_directory, bin.parent_path()))
        m_toolkit = bin.parent_path();
}

bool Installed::has(const std::filesystem::path& path) const
{
    return is_below(path, "/usr") || (m_toolkit.has_relative_path() && is_below(path, m_toolkit));
}

}  // namespace hearth::command
