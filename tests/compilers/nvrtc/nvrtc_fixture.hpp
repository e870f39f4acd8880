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

// A cache of its own, the real NVRTC, and a folder for headers. Skips where there is no NVRTC.
class NvrtcTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        m_cache.emplace(open());
        const char* named = std::getenv("HEARTH_NVRTC");
        if (const auto tried = nvrtc::compile(*m_cache, {.source = "__global__ void k() {}"}); !tried)
            GTEST_SKIP() << tried.error().message;
        m_bare.emplace(named != nullptr ? named : files_matching(library_directories(), "libnvrtc.so*").front());
        admin::reset_stats(*m_cache);
    }

    Cache open() const { return open_cache(m_scratch / "cache"); }

    std::string write(const std::string& name, std::string_view text) const
    {
        const std::string path = m_scratch / name;
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        write_file(path, text);
        return path;
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

    ScratchDirectory m_scratch;
    std::optional<Cache> m_cache;
    std::optional<BareNvrtc> m_bare;
};

}  // namespace hearth::test
