#include "support/scratch_directory.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <unistd.h>

namespace hearth::test {

namespace fs = std::filesystem;

namespace {

// TMPDIR when it is set; otherwise memory, where there is enough of it: the tests create and rename a great many files.
fs::path parent()
{
    static const fs::path k_memory = "/dev/shm";
    static constexpr std::uintmax_t k_enough = 512U << 20U;
    std::error_code error;
    if (!std::getenv("TMPDIR") && ::access(k_memory.c_str(), W_OK) == 0 &&
        fs::space(k_memory, error).available > k_enough && !error)
        return k_memory;
    return fs::temp_directory_path();
}

}  // namespace

ScratchDirectory::ScratchDirectory()
{
    m_path = (parent() / "hearth-test-XXXXXX").string();
    if (!::mkdtemp(m_path.data()))
        throw std::system_error(errno, std::generic_category(), "mkdtemp " + m_path);
}

ScratchDirectory::~ScratchDirectory()
{
    std::error_code ignored;
    fs::remove_all(m_path, ignored);
}

std::string read_file(const std::string& path)
{
    std::ifstream in(path, std::ios::binary);
    if (!in)
        throw std::system_error(errno, std::generic_category(), "read " + path);
    return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, std::string_view bytes)
{
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush())
        throw std::system_error(errno, std::generic_category(), "write " + path);
}

std::map<std::string, std::string> snapshot(const std::string& folder)
{
    std::map<std::string, std::string> found;
    for (const fs::directory_entry& item : fs::recursive_directory_iterator(folder)) {
        std::string& what = found[item.path().string()];
        if (item.is_symlink())
            what = "-> " + fs::read_symlink(item.path()).string();
        else if (item.is_directory())
            what = "<directory>";
        else
            what = item.is_regular_file() ? read_file(item.path().string()) : "<other>";
    }
    return found;
}

}  // namespace hearth::test
