#include "scratch.hpp"

#include "timing.hpp"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::bench {

Scratch::Scratch()
{
    std::string pattern = std::filesystem::path(own_path()).parent_path() / "bench-scratch-XXXXXX";
    if (!::mkdtemp(pattern.data())) {
        std::perror("hearth_bench: cannot make a scratch directory beside the program");
        std::exit(3);
    }
    m_root = pattern;
    m_remover = ::popen(("trap '' INT TERM HUP; cat >/dev/null; rm -rf '" + m_root + "'").c_str(), "we");
}

Scratch::~Scratch()
{
    if (m_remover)
        ::pclose(m_remover);
}

std::string own_path()
{
    return std::filesystem::read_symlink("/proc/self/exe");
}

std::string beside(const std::string& name)
{
    return std::filesystem::path(own_path()).parent_path() / name;
}

int run_to_its_end(std::vector<std::string> words)
{
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = 0;
    int status = 0;
    if (::posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0 ||
        ::waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string output_of(const std::string& command)
{
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
    std::string output;
    char buffer[4096];
    while (pipe && std::fgets(buffer, sizeof buffer, pipe.get()))
        output += buffer;
    return output;
}

std::string run_self(const std::string& arguments)
{
    return output_of("'" + own_path() + "' " + arguments);
}

ChildrenRun run_children(int count, std::vector<std::string> arguments)
{
    std::string self = own_path();
    std::string child = "--child";
    std::vector<char*> words{self.data(), child.data()};
    for (std::string& argument : arguments)
        words.push_back(argument.data());
    words.push_back(nullptr);
    std::vector<pid_t> children;
    const std::uint64_t start = now_ns();
    for (int i = 0; i < count; ++i) {
        const pid_t started = ::fork();
        if (started == 0) {
            const int null = ::open("/dev/null", O_WRONLY);
            ::dup2(null, STDOUT_FILENO);
            ::execv(words[0], words.data());
            ::_exit(127);
        }
        children.push_back(started);
    }
    ChildrenRun run;
    for (const pid_t started : children) {
        int status = 0;
        ::waitpid(started, &status, 0);
        run.statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    run.seconds = static_cast<double>(now_ns() - start) * 1e-9;
    return run;
}

}  // namespace hearth::bench
