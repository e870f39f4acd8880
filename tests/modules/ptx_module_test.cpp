#include "modules/ptx_module.hpp"

#include "compilers/ptx/ptx_test.hpp"
#include "fake_cuda.hpp"
#include "hearth/cache.hpp"
#include "modules/loaded_function.hpp"
#include "support/in_threads.hpp"
#include "watch/manifest.hpp"

#include <set>

// PTX to a module (48), with the real nvJitLink and a driver that only notes what it is given.

namespace hearth::test {

namespace {

using cuda::FunctionLease;
using cuda::LoadedFunction;
using cuda::ModuleLease;
using cuda::ModuleTable;

class PtxModule : public PtxTest {
protected:
    void SetUp() override
    {
        if (const std::string why = why_not_there(ptx::Linker::nvjitlink); !why.empty())
            GTEST_SKIP() << why;
        FakeCuda::make_current(m_context);
        m_cuda.in_load = [this](const std::string& image) { m_loaded = image; };
    }

    Result<ModuleLease> load(const std::string& text = ptx_text())
    {
        return cuda::load_ptx(m_table, {&m_cuda.driver(), m_context}, m_cache, {text, {}, {}});
    }
    Result<FunctionLease> kernel(const std::string& name)
    {
        Result<ModuleLease> module = load();
        EXPECT_TRUE(module) << module.error().message << module.error().log;
        return LoadedFunction::find(m_cuda.driver(), *std::move(module), name, name);
    }

    FakeCuda m_cuda;
    gpu::CudaContext m_context = m_cuda.make_context(1);
    Cache m_cache = open();
    ModuleTable m_table;
    std::string m_loaded;  // up to its first zero
};

TEST_F(PtxModule, is_compiled_once_and_the_drivers_compiler_gets_no_ptx)
{
    for (const std::uint64_t compiles : {1U, 0U}) {
        // As a fresh process would: with nothing in memory, and no module loaded.
        m_cache.flush();
        m_cache = open();
        m_table.unload_unused();
        m_loaded.clear();
        const Result<ModuleLease> module = load();
        ASSERT_TRUE(module) << module.error().message << module.error().log;
        EXPECT_TRUE(is_cubin(as_bytes(m_loaded)));
        EXPECT_EQ(m_cache.stats().compiles, compiles);
    }
    EXPECT_EQ(m_cuda.loads(), 2);
}

TEST_F(PtxModule, once_it_is_loaded_neither_a_tier_nor_the_driver_is_asked_but_for_functions_by_other_names)
{
    m_cuda.absent = {"stroe"};
    const FunctionLease first = kernel("store").value();
    const std::uint64_t lookups = m_cache.stats().lookups();
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(kernel("store").value(), first);
    EXPECT_EQ(m_cuda.functions_asked_for(), 1);
    EXPECT_NE(kernel("load").value(), first);
    const Result<FunctionLease> misspelt = kernel("stroe");
    ASSERT_FALSE(misspelt);
    EXPECT_EQ(misspelt.error().code, Code::not_found);
    EXPECT_EQ(m_cache.stats().lookups(), lookups);
    EXPECT_EQ(m_cuda.loads(), 1);
    EXPECT_EQ(m_table.stats().hits, 7U);
}

TEST_F(PtxModule, stays_loaded_without_a_lease_until_it_is_evicted_by_its_entry)
{
    const Key entry = load().value()->key;
    EXPECT_EQ(m_table.stats().loaded, 1U);
    m_table.evict(entry);
    EXPECT_EQ(m_table.stats().loaded, 0U);
    const FunctionLease held = kernel("store").value();
    m_table.unload_unused();
    EXPECT_EQ(m_table.stats().loaded, 1U) << "a function holds its module";
    EXPECT_EQ(m_cache.stats().compiles, 1U);
}

TEST_F(PtxModule, a_second_context_gets_one_of_its_own_from_the_cache)
{
    const ModuleLease first = load().value();
    m_context = m_cuda.make_context(2);
    FakeCuda::make_current(m_context);
    const ModuleLease second = load().value();
    EXPECT_NE(&*first, &*second);
    EXPECT_EQ(m_cuda.loads(), 2);
    EXPECT_EQ(m_cache.stats().compiles, 1U);
}

TEST_F(PtxModule, sixteen_threads_that_ask_at_once_compile_and_load_once)
{
    m_cuda.in_load = nullptr;
    in_threads(16, [&](std::uint64_t) {
        FakeCuda::make_current(m_context);
        for (int i = 0; i < 20; ++i)
            EXPECT_TRUE(kernel("store" + std::to_string(i % 3)));
    });
    EXPECT_EQ(m_cuda.loads(), 1);
    EXPECT_EQ(m_cache.stats().compiles, 1U);
    EXPECT_EQ(m_cuda.misuses(), 0);
}

TEST_F(PtxModule, bad_ptx_is_an_error_with_the_compilers_log)
{
    std::string text = ptx_text();
    text.replace(text.find("ret;"), 4, "rett;");
    const Result<ModuleLease> module = load(text);
    ASSERT_FALSE(module);
    EXPECT_EQ(module.error().code, Code::compile_failed);
    EXPECT_NE(module.error().message.find("The PTX does not compile for sm_90"), std::string::npos)
        << module.error().message;
    EXPECT_NE(module.error().log.find("rett"), std::string::npos) << module.error().log;
    EXPECT_EQ(m_cuda.loads(), 0);
}

TEST_F(PtxModule, of_one_chip_alone_is_compiled_for_that_chip)
{
    std::string text = ptx_text();
    text.replace(text.find(".version 7.0"), 12, ".version 8.0");
    text.replace(text.find("sm_75"), 5, "sm_90a");
    EXPECT_TRUE(load(text)) << "sm_90a does not compile for sm_90";
    const auto target = [&](const std::string& given) {
        const ptx::Program program{.text = given};
        return cuda::compile_here(m_cuda.driver(), m_cache, program, ptx::CompileOptions{})
            ->compiled.artifact()
            .metadata.target;
    };
    EXPECT_EQ(target(text), "sm_90a");
    EXPECT_EQ(target(ptx_text()), "sm_90");
}

TEST_F(PtxModule, an_entry_that_the_driver_rejects_is_removed_and_compiled_again)
{
    const ptx::Program program{.text = ptx_text(), .target = "sm_90"};
    const Key key = ptx::explain(m_cache, program).value().key;
    Artifact garbage;
    garbage.sections.push_back({"cubin", Bytes::copy_of("this is no cubin")});
    garbage.sections.push_back({"hearth.conditions", watch::encode_conditions({})});
    ASSERT_TRUE(m_cache.insert(key, std::move(garbage)));
    m_cuda.rejected["this is no cubin"] = "no";
    const Result<ModuleLease> module = load(program.text);
    ASSERT_TRUE(module) << module.error().message;
    EXPECT_TRUE(is_cubin(as_bytes(m_loaded)));
    EXPECT_EQ(m_table.stats().rejected, 1U);
    EXPECT_EQ(m_cache.stats().compiles, 1U);
    EXPECT_TRUE(is_cubin(ptx::compile(m_cache, program)->cubin())) << "what is stored now is good";
    EXPECT_EQ(m_cache.stats().compiles, 1U);
}

TEST(PtxModuleKey, everything_that_is_given_makes_another_module)
{
    const auto key = [](std::string_view text, const ptx::Program& rest, const ptx::CompileOptions& options = {}) {
        return cuda::module_key({text, rest, options});
    };
    const std::set<Key> keys{
        key("text", {}),
        key("texts", {}),
        key("", {.name = "text"}),
        key("text", {.name = "name"}),
        key("text", {.target = "name"}),
        key("text", {.name = "na", .target = "me"}),
        key("text", {.options = {"-O3"}}),
        key("text", {.options = {"-O3", ""}}),
        key("text", {.options = {"-O", "3"}}),
        key("text", {.input = ptx::Input::lto_ir}),
        key("text", {}, {.linker = ptx::Linker::driver}),
        key("text", {}, {.library = "name"}),
    };
    EXPECT_EQ(keys.size(), 12U);
    EXPECT_EQ(key("text", {.text = "not looked at"}, {.deadline = std::chrono::seconds(1)}), key("text", {}));
}

}  // namespace

}  // namespace hearth::test
