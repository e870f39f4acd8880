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

    Result<ModuleLease> load(ModuleTable& table, Cache& cache, const std::string& text)
    {
        return cuda::load_ptx(table, {&m_cuda.driver(), m_context}, cache, {text, {}, {}});
    }
    Result<FunctionLease> kernel(ModuleTable& table, Cache& cache, const std::string& text, const std::string& name)
    {
        Result<ModuleLease> module = load(table, cache, text);
        EXPECT_TRUE(module) << module.error().message << module.error().log;
        return LoadedFunction::find(m_cuda.driver(), *std::move(module), name, name);
    }

    FakeCuda m_cuda;
    gpu::CudaContext m_context = m_cuda.make_context(1);
    std::string m_loaded;  // up to its first zero
};

TEST_F(PtxModule, is_compiled_once_and_the_drivers_compiler_gets_no_ptx)
{
    for (const std::uint64_t compiles : {1U, 0U}) {
        // As a fresh process would: with nothing in memory, and no module loaded.
        Cache cache = open();
        ModuleTable table;
        m_loaded.clear();
        const Result<ModuleLease> module = load(table, cache, ptx_text());
        ASSERT_TRUE(module) << module.error().message << module.error().log;
        EXPECT_TRUE(is_cubin(as_bytes(m_loaded)));
        EXPECT_EQ(cache.stats().compiles, compiles);
    }
    EXPECT_EQ(m_cuda.loads(), 2);
}

TEST_F(PtxModule, once_it_is_loaded_neither_a_tier_nor_the_driver_is_asked)
{
    Cache cache = open();
    ModuleTable table;
    const FunctionLease first = kernel(table, cache, ptx_text(), "store").value();
    const std::uint64_t lookups = cache.stats().lookups();
    for (int i = 0; i < 5; ++i)
        EXPECT_EQ(kernel(table, cache, ptx_text(), "store").value(), first);
    EXPECT_EQ(cache.stats().lookups(), lookups);
    EXPECT_EQ(m_cuda.loads(), 1);
    EXPECT_EQ(m_cuda.functions_asked_for(), 1);
    EXPECT_EQ(table.stats().hits, 5U);
}

TEST_F(PtxModule, stays_loaded_without_a_lease_until_it_is_evicted_by_its_entry)
{
    Cache cache = open();
    ModuleTable table;
    const Key entry = load(table, cache, ptx_text()).value()->key;
    EXPECT_EQ(table.stats().loaded, 1U);
    table.evict(entry);
    EXPECT_EQ(table.stats().loaded, 0U);
    const FunctionLease held = kernel(table, cache, ptx_text(), "store").value();
    table.unload_unused();
    EXPECT_EQ(table.stats().loaded, 1U) << "a function holds its module";
    EXPECT_EQ(cache.stats().compiles, 1U);
}

TEST_F(PtxModule, has_its_functions_by_name)
{
    Cache cache = open();
    ModuleTable table;
    m_cuda.absent = {"stroe"};
    const FunctionLease store = kernel(table, cache, ptx_text(), "store").value();
    EXPECT_NE(kernel(table, cache, ptx_text(), "load").value(), store);
    EXPECT_EQ(kernel(table, cache, ptx_text(), "store").value(), store);
    const Result<FunctionLease> misspelt = kernel(table, cache, ptx_text(), "stroe");
    ASSERT_FALSE(misspelt);
    EXPECT_EQ(misspelt.error().code, Code::not_found);
    EXPECT_EQ(m_cuda.loads(), 1);
}

TEST_F(PtxModule, a_second_context_gets_one_of_its_own_from_the_cache)
{
    Cache cache = open();
    ModuleTable table;
    const ModuleLease first = load(table, cache, ptx_text()).value();
    const gpu::CudaContext old = m_context;
    m_context = m_cuda.make_context(2);
    FakeCuda::make_current(m_context);
    const ModuleLease second = load(table, cache, ptx_text()).value();
    EXPECT_NE(&*first, &*second);
    EXPECT_EQ(m_cuda.loads(), 2);
    EXPECT_EQ(cache.stats().compiles, 1U);

    // A new context at the place of one that was destroyed does not get its module.
    m_cuda.destroy_context(old);
    m_context = m_cuda.make_context(1);
    FakeCuda::make_current(m_context);
    EXPECT_NE(&*load(table, cache, ptx_text()).value(), &*first);
    EXPECT_EQ(m_cuda.loads(), 3);
}

TEST_F(PtxModule, sixteen_threads_that_ask_at_once_compile_and_load_once)
{
    Cache cache = open();
    ModuleTable table;
    m_cuda.in_load = nullptr;
    in_threads(16, [&](std::uint64_t) {
        FakeCuda::make_current(m_context);
        for (int i = 0; i < 20; ++i)
            EXPECT_TRUE(kernel(table, cache, ptx_text(), "store" + std::to_string(i % 3)));
    });
    EXPECT_EQ(m_cuda.loads(), 1);
    EXPECT_EQ(cache.stats().compiles, 1U);
    EXPECT_EQ(m_cuda.misuses(), 0);
}

TEST_F(PtxModule, bad_ptx_is_an_error_with_the_compilers_log)
{
    Cache cache = open();
    ModuleTable table;
    std::string text = ptx_text();
    text.replace(text.find("ret;"), 4, "rett;");
    const Result<ModuleLease> module = load(table, cache, text);
    ASSERT_FALSE(module);
    EXPECT_EQ(module.error().code, Code::compile_failed);
    EXPECT_NE(module.error().message.find("The PTX does not compile for sm_90"), std::string::npos)
        << module.error().message;
    EXPECT_NE(module.error().log.find("rett"), std::string::npos) << module.error().log;
    EXPECT_EQ(m_cuda.loads(), 0);
}

TEST_F(PtxModule, of_one_chip_alone_is_compiled_for_that_chip)
{
    Cache cache = open();
    ModuleTable table;
    std::string text = ptx_text();
    text.replace(text.find(".version 7.0"), 12, ".version 8.0");
    text.replace(text.find("sm_75"), 5, "sm_90a");
    EXPECT_TRUE(load(table, cache, text)) << "sm_90a does not compile for sm_90";
    const auto target = [&](const std::string& given) {
        const ptx::Program program{.text = given};
        return cuda::compile_here(m_cuda.driver(), cache, program, ptx::CompileOptions{})
            ->compiled.artifact()
            .metadata.target;
    };
    EXPECT_EQ(target(text), "sm_90a");
    EXPECT_EQ(target(ptx_text()), "sm_90");
}

TEST_F(PtxModule, an_entry_that_the_driver_rejects_is_removed_and_compiled_again)
{
    Cache cache = open();
    ModuleTable table;
    const ptx::Program program{.text = ptx_text(), .target = "sm_90"};
    const Key key = ptx::explain(cache, program).value().key;
    Artifact garbage;
    garbage.sections.push_back({"cubin", Bytes::copy_of("this is no cubin")});
    garbage.sections.push_back({"hearth.conditions", watch::encode_conditions({})});
    ASSERT_TRUE(cache.insert(key, std::move(garbage)));
    m_cuda.rejected["this is no cubin"] = "no";
    const Result<ModuleLease> module = load(table, cache, program.text);
    ASSERT_TRUE(module) << module.error().message;
    EXPECT_TRUE(is_cubin(as_bytes(m_loaded)));
    EXPECT_EQ(table.stats().rejected, 1U);
    EXPECT_EQ(cache.stats().compiles, 1U);
    EXPECT_TRUE(is_cubin(ptx::compile(cache, program)->cubin())) << "what is stored now is good";
    EXPECT_EQ(cache.stats().compiles, 1U);
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
