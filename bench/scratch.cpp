#include "scratch.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

namespace hearth::bench {

Scratch::Scratch()
{
    std::string pattern = std::filesystem::path(own_path()).parent_path() / "bench-scratch-XXXXXX";
    if (!::mkdtemp(pattern.data())) {
        std::perror("hearth_bench: cannot make a scratch directory beside the program");
        std::exit(3);
    }
    m_root = pattern;
}

Scratch::~Scratch()
{
    std::error_code ignored;
    std::filesystem::remove_all(m_root, ignored);
}

std::string own_path()
{
    return std::filesystem::read_symlink("/proc/self/exe");
}

std::string run_self(const std::string& arguments)
{
    const std::string command = "'" + own_path() + "' " + arguments;
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
    std::string output;
    char buffer[4096];
    while (pipe && std::fgets(buffer, sizeof buffer, pipe.get()))
        output += buffer;
    return output;
}

}  // namespace hearth::bench
