#pragma once

#include "hearth/libraries.hpp"
#include "tools/command.hpp"

#include <unistd.h>

namespace hearth::test {

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
    // With the folders that it lies in.
    std::filesystem::path write(const std::string& name, const std::string& bytes)
    {
        std::filesystem::create_directories((scratch / name).parent_path());
        return Command::write(name, bytes);
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
    // hearth run OPTIONS -- PROGRAM
    ProcessResult run(Words options, const Words& program, const ProcessOptions& how = {})
    {
        options.insert(options.begin(), "run");
        options.emplace_back("--");
        options.insert(options.end(), program.begin(), program.end());
        return hearth(options, how);
    }
    ProcessResult served(const ProcessOptions& how = {}, const Words& options = {"--json"})
    {
        return run(options, command, honest(how));
    }
    // Runs the command as it is and two times served, and expects that it notices nothing. What was summed up of a
    // first time, and of a second.
    std::pair<nlohmann::json, nlohmann::json> compare(const ProcessOptions& options = {})
    {
        const ProcessResult without = plain(options);
        EXPECT_EQ(without.exit_code, 0) << without.err;
        const ProcessResult miss = served(options);
        const ProcessResult hit = served(options);
        for (const ProcessResult* with : {&miss, &hit}) {
            EXPECT_EQ(with->exit_code, 0) << with->err;
            EXPECT_EQ(with->out, without.out) << (with == &miss ? "miss" : "hit");
        }
        return {summary_of(miss), summary_of(hit)};
    }
    // Turned off, or with a directory that cannot be used.
    void compare_without_a_cache()
    {
        const ProcessResult without = plain();
        const ProcessResult disabled = served({.environment = {{"HEARTH_DISABLE", "1"}}}, {});
        EXPECT_EQ(disabled.out, without.out);
        EXPECT_EQ(disabled.err, without.err);
        const ProcessResult homeless = served({.environment = {{"HEARTH_DIR", "/proc/no/such/place"}}}, {});
        EXPECT_EQ(homeless.out, without.out);
        EXPECT_EQ(homeless.exit_code, 0);
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
    ProcessResult bare(Words words, const Variables& environment = {}, const std::string& directory = {})
    {
        if (words.front().find('/') == std::string::npos)
            words.front().insert(0, "/usr/bin/");
        return run_process(words, options_of(environment, directory));
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
