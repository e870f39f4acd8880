#include "files.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace demo {

namespace fs = std::filesystem;

std::string read_file(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    std::string text;
    std::array<char, 65536> buffer;
    while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0)
        text.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
    return text;
}

Scratch::Scratch() : m_path((fs::temp_directory_path() / "compile_demo-XXXXXX").string())
{
    const int fd = mkstemp(m_path.data());
    if (fd >= 0)
        close(fd);
}

Scratch::~Scratch()
{
    std::error_code ignored;
    fs::remove(m_path, ignored);
}

}  // namespace demo
