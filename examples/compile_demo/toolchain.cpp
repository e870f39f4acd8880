#include "toolchain.hpp"

#include "files.hpp"
#include "process.hpp"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace demo {

namespace {

namespace fs = std::filesystem;

// The program as PATH finds it. A compiler cache that stands in for the compiler is passed over: this is one itself.
std::optional<std::string> find_program(const std::string& name)
{
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        std::error_code error;
        const fs::path resolved = fs::canonical(fs::path(folder) / name, error);
        if (!error && resolved.filename() != "ccache" && resolved.filename() != "sccache" &&
            access(resolved.c_str(), X_OK) == 0)
            return (fs::path(folder) / name).string();
    }
    return std::nullopt;
}

// Read from the file, so that a hit never starts the compiler. An upgrade puts a new file in its place, and the change
// time of a file cannot be set back.
std::string identity_of(const std::string& program)
{
    struct stat found = {};
    if (stat(program.c_str(), &found) != 0)
        return {};
    std::ostringstream text;
    text << fs::canonical(program).string() << ' ' << found.st_size << " bytes, changed " << found.st_ctim.tv_sec << '.'
         << found.st_ctim.tv_nsec << ", inode " << found.st_dev << ':' << found.st_ino;
    return text.str();
}

}  // namespace

hearth::Result<Toolchain> Toolchain::find()
{
    if (const std::optional<std::string> clang = find_program("clang++"))
        return Toolchain{*clang, identity_of(*clang), {"-std=c++20", "-O2", "-S", "-emit-llvm"}, ".ll"};
    if (const std::optional<std::string> gcc = find_program("g++"))
        return Toolchain{*gcc, identity_of(*gcc), {"-std=c++20", "-O2", "-S"}, ".s"};
    return hearth::Error{
        hearth::Code::unavailable, "There is neither clang++ nor g++ on PATH. Run scripts/install-deps build.", {}};
}

std::vector<std::string> Toolchain::command() const
{
    std::vector<std::string> arguments{program};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
}

hearth::Result<hearth::Artifact> Toolchain::compile(const std::string& source) const
{
    const fs::path path(source);
    const Scratch output;
    std::vector<std::string> arguments = command();
    // By its name alone, from its own folder: the output names its source as it was given.
    arguments.insert(arguments.end(), {path.filename().string(), "-o", output.path()});
    hearth::Result<Finished> compiled = run(arguments, path.parent_path().string());
    if (!compiled)
        return compiled.error();
    if (compiled->status != 0)
        return hearth::Error{hearth::Code::compile_failed, source + " does not compile.", compiled->said};
    const hearth::Result<Finished> version = run({program, "--version"}, "/");

    hearth::Artifact artifact;
    artifact.sections = {{"output", hearth::Bytes::copy_of(read_file(output.path()))},
                         {"log", hearth::Bytes::copy_of(compiled->said)}};
    artifact.metadata.label = path.filename().string();
    artifact.metadata.compiler = version ? version->said.substr(0, version->said.find('\n')) : program;
    artifact.metadata.options = options;
    return artifact;
}

}  // namespace demo
