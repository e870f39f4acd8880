#include "modules/compile_here.hpp"

#include "engine/hooked_tier.hpp"
#include "fake_cuda.hpp"
#include "hearth/cache.hpp"
#include "support/open_cache.hpp"
#include "support/scratch_directory.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

// 29: what is handed to the driver, with the real NVRTC and a driver that only notes it.

namespace hearth::test {

namespace {

class CompileHere : public testing::Test {
protected:
    CompileHere() { FakeCuda::make_current(m_context); }

    // As a fresh process would: with nothing in memory, and no module loaded.
    Result<nvrtc::Outcome> load(const nvrtc::Program& program)
    {
        Cache cache = open_cache(m_scratch / "cache", {.tiers = m_tiers});
        cuda::ModuleTable table;
        std::optional<nvrtc::Outcome> outcome;
        const auto compile = [&](Cache& through) {
            Result<cuda::CompiledHere> compiled =
                cuda::compile_here(m_cuda.driver(), through, program, nvrtc::CompileOptions{});
            if (compiled) {
                outcome = compiled->compiled.outcome();
                m_cubin = std::string(as_text(compiled->compiled.artifact().bytes("cubin")));
                m_ptx = compiled->compiled.artifact().text("ptx");
            }
            return compiled;
        };
        m_cuda.in_load = [this](const std::string& image) { m_loaded = image; };
        const auto loaded = cuda::load_here(table, {&m_cuda.driver(), m_context}, cache, compile);
        if (!outcome)
            return loaded.error();
        EXPECT_EQ(loaded.ok(), m_cuda.rejected.empty());
        return *outcome;
    }

    ScratchDirectory m_scratch;
    std::vector<TierSpec> m_tiers;  // the usual ones if there are none
    FakeCuda m_cuda;
    gpu::CudaContext m_context = m_cuda.make_context(1);
    std::string m_cubin;
    std::string m_ptx;
    std::string m_loaded;  // up to its first zero: a driver is not told how long an image is
};

}  // namespace

TEST_F(CompileHere, a_warm_start_loads_the_cubin_so_that_the_driver_compiles_nothing)
{
    const nvrtc::Program program{.source = "__global__ void k(int* x) { *x = 1; }", .target = "sm_90"};
    const Result<nvrtc::Outcome> cold = load(program);
    if (!cold)
        GTEST_SKIP() << cold.error().message;
    EXPECT_EQ(*cold, nvrtc::Outcome::compiled);
    const std::string cubin = m_cubin;
    m_loaded.clear();
    EXPECT_EQ(load(program).value(), nvrtc::Outcome::hit);
    EXPECT_EQ(m_cubin, cubin);
    EXPECT_NE(m_ptx.find(".entry"), std::string::npos) << "the PTX is kept beside it";
    EXPECT_TRUE(m_loaded.starts_with("\x7f"
                                     "ELF"));
    EXPECT_EQ(m_loaded, cubin.substr(0, cubin.find('\0')));
    EXPECT_EQ(m_cuda.loads(), 2);
}

TEST_F(CompileHere, only_a_virtual_target_is_left_to_the_drivers_compiler)
{
    const nvrtc::Program program{.source = "__global__ void k(int* x) { *x = 1; }", .target = "compute_90"};
    if (const Result<nvrtc::Outcome> cold = load(program); !cold)
        GTEST_SKIP() << cold.error().message;
    EXPECT_EQ(load(program).value(), nvrtc::Outcome::hit);
    EXPECT_EQ(m_cubin, "");
    EXPECT_EQ(m_loaded, m_ptx.c_str());
}

// Both results have the question's own key: nothing tells that there is another.
TEST_F(CompileHere, headers_of_two_directories_are_two_modules_where_nothing_is_kept)
{
    for (const char* const value : {"1", "2"}) {
        std::filesystem::create_directory(m_scratch / value);
        std::ofstream(m_scratch / value + "/value.h") << "#define VALUE " << value;
    }
    Cache cache = Cache::open({.caching = Switch::off}).value();
    cuda::ModuleTable table;
    std::set<CUmod_st*> modules;
    std::vector<cuda::ModuleLease> leases;
    for (const char* const value : {"1", "2", "1"}) {
        const nvrtc::Program program{.source = "#include \"value.h\"\n__global__ void k(int* x) { *x = VALUE; }",
                                     .options = {"-I" + m_scratch / value},
                                     .target = "sm_90"};
        Result<cuda::LoadedHere> loaded =
            cuda::load_here(table, {&m_cuda.driver(), m_context}, cache, [&](Cache& through) {
                return cuda::compile_here(m_cuda.driver(), through, program, nvrtc::CompileOptions{});
            });
        if (!loaded)
            GTEST_SKIP() << loaded.error().message;
        modules.insert(loaded->module->handle);
        leases.push_back(std::move(loaded->module));
    }
    EXPECT_EQ(modules.size(), 2U);
    EXPECT_EQ(m_cuda.loads(), 2);
}

// Another node's driver may take it.
TEST_F(CompileHere, an_image_that_the_driver_rejects_is_left_alone_on_servers)
{
    const nvrtc::Program program{.source = "__global__ void k(int* x) { *x = 2; }", .target = "sm_90"};
    int sent = 0;
    const auto count = [&](const Key&) { return ++sent, std::optional<Error>(); };
    const TierTraits remote{.persistent = true, .remote = true};
    m_tiers = {memory(0), hooked(disk(m_scratch / "server"), {.store = count, .traits = remote})};
    if (const Result<nvrtc::Outcome> cold = load(program); !cold)
        GTEST_SKIP() << cold.error().message;
    const int sent_at_first = sent;
    EXPECT_GT(sent_at_first, 0);
    m_cuda.rejected[m_loaded] = "not for this driver";
    static_cast<void>(load(program));
    EXPECT_EQ(sent, sent_at_first) << "it was removed there, and sent again";
    m_cuda.rejected.clear();
    EXPECT_EQ(load(program).value(), nvrtc::Outcome::hit);
}

}  // namespace hearth::test
