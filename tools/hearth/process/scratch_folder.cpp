#include "process/scratch_folder.hpp"

#include "terminal/exit.hpp"
#include "terminal/system_error.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace hearth::cli {

std::string temporary_folder()
{
    const char* const named = std::getenv("TMPDIR");
    return named != nullptr && *named == '/' ? named : "/tmp";
}

ScratchFolder::ScratchFolder()
{
    const std::string parent = temporary_folder();
    m_path = parent + "/hearth-XXXXXX";
    if (::mkdtemp(m_path.data()) == nullptr)
        fail(fmt::format("No scratch directory can be created in {}: {}. Free some space there, or name another with "
                         "TMPDIR.",
                         in_quotes(parent), system_error(errno)));
}

ScratchFolder::~ScratchFolder()
{
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
}

}  // namespace hearth::cli
