// What the recorders see, beside what the kernel sees.

#include "hearth/libraries.hpp"
#include "support/process.hpp"
#include "support/scratch_directory.hpp"
#include "support/server_process.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>

namespace hearth::test {

namespace {

// "read PATH" and "missed PATH".
using Seen = std::set<std::string>;

class BesideStrace : public testing::Test {
protected:
    void SetUp() override
    {
        if (!has_command("strace"))
            GTEST_SKIP() << "strace is not installed";
        if (run_process({"/usr/bin/strace", "-qq", "-o", m_scratch / "log", "/bin/true"}).exit_code != 0)
            GTEST_SKIP() << "strace cannot trace here";
        if (run_process({HEARTH_WATCH_PROBE, "/dev/null"}).exit_code == 2)
            GTEST_SKIP() << "there is no libnvrtc";
        for (const std::string& directory : library_directories())
            for (const char* include : {"/../include", "/../include/cccl"})
                if (std::filesystem::exists(directory + include + "/cuda_fp16.h") ||
                    std::filesystem::exists(directory + include + "/cub/cub.cuh"))
                    m_cuda.insert(std::filesystem::canonical(directory + include).string());
    }

    // Only paths in these directories: the loader and libc itself open files too.
    static bool counts(const std::string& path, const std::vector<std::string>& directories)
    {
        return std::ranges::any_of(directories, [&](const auto& one) { return path.starts_with(one + "/"); });
    }

    static Seen of_strace(const std::string& file, const std::vector<std::string>& directories)
    {
        Seen seen;
        std::ifstream lines(file);
        bool compiling = false;
        const std::regex call(R"((\w+)\([^"]*"([^"]*)\"(.*)\) = (-?\d+)(.*))");
        for (std::string line; std::getline(lines, line);) {
            compiling = (compiling || line.find("/hearth-begins") != std::string::npos) &&
                        line.find("/hearth-ends") == std::string::npos;
            std::smatch part;
            if (!compiling || !std::regex_search(line, part, call) || !counts(part[2], directories))
                continue;
            if (part[4] == "-1" && part[5].str().find("ENOENT") != std::string::npos)
                seen.insert("missed " + part[2].str());
            else if (part[1].str().starts_with("open") && part[4] != "-1")
                seen.insert("read " + part[2].str());
        }
        return seen;
    }

    static Seen of_recorders(const std::string& text, const std::vector<std::string>& directories)
    {
        Seen seen;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);)
            if (counts(line.substr(line.find(' ') + 1), directories))
                seen.insert(line);
        return seen;
    }

    // How many files were read.
    std::ptrdiff_t expect_the_same(const std::string& source, const std::vector<std::string>& directories)
    {
        write_file(m_scratch / "k.cu", source);
        std::vector<std::string> command{"/usr/bin/strace", "-f", "-qq", "-s", "4096", "-e", "trace=%file"};
        command.insert(command.end(), {"-o", m_scratch / "log", HEARTH_WATCH_PROBE, m_scratch / "k.cu"});
        for (const std::string& directory : directories)
            command.push_back("-I" + directory);
        // A search for leaks does not work under strace.
        const ProcessResult probed = run_process(command, {.environment = {{"ASAN_OPTIONS", "detect_leaks=0"}}});
        const Seen by_strace = of_strace(m_scratch / "log", directories);
        EXPECT_EQ(probed.exit_code, 0) << probed.err;
        EXPECT_EQ(of_recorders(probed.out, directories), by_strace);
        return std::ranges::count_if(by_strace, [](const std::string& line) { return line.starts_with("read "); });
    }

    ScratchDirectory m_scratch;
    std::set<std::string> m_cuda;
};

}  // namespace

TEST_F(BesideStrace, a_small_tree_is_seen_whole)
{
    for (const char* name : {"a", "b"})
        std::filesystem::create_directories(m_scratch / name);
    write_file(m_scratch / "b/v.h", "#include \"w.h\"\n");
    write_file(m_scratch / "b/w.h", "");
    EXPECT_EQ(expect_the_same("#include <v.h>\n__global__ void k() {}", {m_scratch / "a", m_scratch / "b"}), 2);
}

TEST_F(BesideStrace, the_headers_of_cub_are_seen_whole)
{
    if (m_cuda.size() < 2)
        GTEST_SKIP() << "the CUDA toolkit is not on this machine";
    EXPECT_GT(expect_the_same("#include <cub/block/block_scan.cuh>\n#include <cuda_fp16.h>\n"
                              "__global__ void k(__half* x) { x[0] = x[1]; }",
                              {m_cuda.begin(), m_cuda.end()}),
              100);
}

}  // namespace hearth::test
