#pragma once

#include "hearth/libraries.hpp"
#include "tools/command.hpp"

#include <unistd.h>

namespace hearth::test {

using Words = std::vector<std::string>;

// A program that knows nothing of Hearth, as it is and under `hearth run`.
class Served : public Command {
protected:
    void SetUp() override
    {
        if (std::string_view(HEARTH_DROPINS).empty())
            GTEST_SKIP() << "There are no drop-ins: a sanitizer's library cannot be loaded into other programs.";
    }
    // Skips the case where a file is missing.
    static void need(const std::string& file)
    {
        if (!IsSkipped() && ::access(file.c_str(), R_OK) != 0)
            GTEST_SKIP() << file << " is not installed.";
    }
    // Sets `real`, or skips the case where none of these is installed.
    void need_library(const Words& names)
    {
        real = find_library(names);
        if (real.empty())
            GTEST_SKIP() << names.front() << " is not installed.";
    }
    static std::string program(const std::string& name) { return std::string(HEARTH_PROGRAMS) + "/" + name; }

    // Beside a driver libraries have caches of their own, and leave messages out that are not in them.
    ProcessOptions honest(ProcessOptions options = {}) const
    {
        options.environment.try_emplace("CUDA_CACHE_DISABLE", "1");
        options.environment.try_emplace("LD_LIBRARY_PATH", std::filesystem::path(real).parent_path().string());
        options.directory = scratch.string();
        return options;
    }
    ProcessResult plain(const ProcessOptions& options = {}) const { return run_process(command, honest(options)); }
    ProcessResult served(const ProcessOptions& options = {}, Words words = {"--json"})
    {
        words.insert(words.begin(), "run");
        words.emplace_back("--");
        words.insert(words.end(), command.begin(), command.end());
        return hearth(words, honest(options));
    }

    Words command;
    std::string real;  // the library that the drop-in stands in for
};

// A compiler that is a program, as it is and under `hearth exec` or `hearth run`.
class ServedCompiler : public Served {
protected:
    using Variables = std::map<std::string, std::string>;

    ProcessOptions options_of(const Variables& environment = {}, const std::string& directory = {}) const
    {
        return {.environment = {environment.begin(), environment.end()}, .directory = (scratch / directory).string()};
    }
    // The last line is ours: it is in `told`, and not in what comes back.
    ProcessResult exec(Words words, const Variables& environment = {}, const std::string& directory = {},
                       const Words& how = {"exec", "--verbose", "--"})
    {
        words.insert(words.begin(), how.begin(), how.end());
        ProcessResult result = hearth(words, options_of(environment, directory));
        const std::size_t line = result.err.rfind("hearth: ");
        told = line == std::string::npos ? "" : result.err.substr(line);
        result.err.resize(std::min(line, result.err.size()));
        return result;
    }
    ProcessResult exec_any(const Words& words, const Variables& environment = {}, const std::string& directory = {})
    {
        return exec(words, environment, directory, {"exec", "--any", "--verbose", "--"});
    }
    // What became of the last command: "miss", "hit", ...
    std::string outcome() const
    {
        const std::size_t colon = told.find(": ", std::string_view("hearth: ").size());
        return colon == std::string::npos ? told
                                          : told.substr(colon + 2, told.find_first_of(":,", colon + 2) - colon - 2);
    }
    std::filesystem::path write_program(const std::string& name, const std::string& text)
    {
        const std::filesystem::path file = write(name, text);
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
        return file;
    }

    std::string told;
};

}  // namespace hearth::test
