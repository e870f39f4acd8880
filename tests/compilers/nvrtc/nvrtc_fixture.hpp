#pragma once

#include "hearth/hearth.hpp"
#include "support/bare_nvrtc.hpp"
#include "support/open_cache.hpp"
#include "support/scratch_directory.hpp"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>

namespace hearth::test {

// A cache of its own, the real NVRTC, and a folder for headers. Skips where there is no NVRTC. Cases may change the
// working directory and NVRTC_APPEND_FLAGS.
class NvrtcTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        m_cache.emplace(open());
        const char* named = std::getenv("HEARTH_NVRTC");
        Cache none = Cache::open({.caching = Switch::off}).value();
        if (const auto tried = nvrtc::compile(none, {.source = "__global__ void k() {}"}); !tried)
            GTEST_SKIP() << tried.error().message;
        m_bare.emplace(named != nullptr ? named : files_matching(library_directories(), "libnvrtc.so*").front());
    }
    void TearDown() override
    {
        ::unsetenv("NVRTC_APPEND_FLAGS");
        std::filesystem::current_path(m_before);
    }

    Cache open() const { return open_cache(m_scratch / "cache", m_options); }

    std::string write(const std::string& name, std::string_view text) const
    {
        const std::string path = m_scratch / name;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        write_file(path, text);
        return path;
    }
    std::string include(const std::string& directory) const { return "-I" + (m_scratch / directory); }

    // A kernel that stores VALUE, which these lines define.
    static nvrtc::Program program(const std::string& lines, std::vector<std::string> options = {},
                                  const std::string& target = "compute_90")
    {
        return {.source = lines + "\n__global__ void k(int* x) { *x = VALUE; }",
                .name = "k.cu",
                .options = std::move(options),
                .target = target};
    }

    nvrtc::Compiled compile(const nvrtc::Program& program)
    {
        Result<nvrtc::Compiled> compiled = nvrtc::compile(*m_cache, program);
        if (!compiled)
            throw std::runtime_error(compiled.error().message);
        return *std::move(compiled);
    }

    void expect_as_bare(const nvrtc::Compiled& compiled, const nvrtc::Program& program) const
    {
        const BareResult bare = m_bare->compile(program);
        EXPECT_EQ(compiled.status(), bare.status);
        EXPECT_EQ(compiled.log(), bare.log);
        EXPECT_EQ(compiled.ptx(), bare.ptx);
        EXPECT_EQ(as_text(compiled.cubin()), bare.cubin);
    }
    void expect(nvrtc::Outcome outcome, const nvrtc::Program& program)
    {
        const nvrtc::Compiled compiled = compile(program);
        EXPECT_EQ(to_string(compiled.outcome()), to_string(outcome)) << compiled.reason() << "\n" << compiled.log();
        expect_as_bare(compiled, program);
    }

    ScratchDirectory m_scratch;
    CacheOptions m_options;
    std::optional<Cache> m_cache;
    std::optional<BareNvrtc> m_bare;

private:
    const std::filesystem::path m_before = std::filesystem::current_path();
};

}  // namespace hearth::test
