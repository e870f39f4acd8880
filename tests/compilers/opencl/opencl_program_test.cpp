#include "compilers/opencl/request.hpp"
#include "opencl_test.hpp"
#include "watch/manifest.hpp"

#include <thread>

namespace hearth::test {

namespace {

class OpenClPrograms : public OpenClTest {};

TEST_F(OpenClPrograms, are_compiled_once_and_then_made_of_their_binary)
{
    Cache cache = open();
    const opencl::Program first = build(cache, saxpy_source());
    EXPECT_FALSE(first.failed()) << first.log();
    EXPECT_EQ(first.outcome(), opencl::Outcome::compiled);
    EXPECT_EQ(first.reason(), "absent");
    EXPECT_FALSE(first.binary().empty());
    EXPECT_EQ(first.artifact().metadata.label, "saxpy.cl");
    EXPECT_EQ(first.artifact().metadata.target, context().device().name);

    const opencl::Program second = build(cache, saxpy_source());
    EXPECT_EQ(second.outcome(), opencl::Outcome::hit);
    EXPECT_NE(second.handle(), first.handle());
    EXPECT_TRUE(second.kernel("saxpy").ok());
    EXPECT_EQ(cache.stats().compiles, 1U);
    EXPECT_EQ(cache.stats().hits, 1U);
}

TEST_F(OpenClPrograms, a_build_error_comes_with_its_log_and_is_remembered)
{
    Cache cache = open();
    opencl::Source source = saxpy_source();
    source.text += "kernel void broken(global int* out) { out[0] = no_such_thing; }\n";
    const opencl::Program first = build(cache, source);
    EXPECT_TRUE(first.failed());
    EXPECT_EQ(first.status(), -11);  // CL_BUILD_PROGRAM_FAILURE
    EXPECT_NE(first.log().find("no_such_thing"), std::string::npos) << first.log();
    EXPECT_EQ(first.handle(), nullptr);
    const Result<opencl::Kernel> kernel = first.kernel("saxpy");
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().message, "Kernel \"saxpy\" cannot be had: its program did not build.");
    EXPECT_EQ(kernel.error().log, first.log());

    const opencl::Program second = build(cache, source);
    EXPECT_TRUE(second.failed());
    EXPECT_EQ(second.outcome(), opencl::Outcome::hit);
    EXPECT_EQ(second.log(), first.log());
    EXPECT_EQ(cache.stats().compiles, 1U);
    EXPECT_EQ(cache.stats().failures_replayed, 1U);
}

TEST_F(OpenClPrograms, the_build_log_is_told_again_on_a_hit)
{
    Cache cache = open();
    opencl::Source source = saxpy_source();
    source.text += "#warning heed this\n";
    const opencl::Program first = build(cache, source);
    if (first.failed() || first.log().empty())
        GTEST_SKIP() << "This driver writes no log of a warning.";
    EXPECT_EQ(build(cache, source).log(), first.log());
}

TEST_F(OpenClPrograms, a_binary_that_the_driver_refuses_is_replaced_by_a_fresh_build)
{
    Cache cache = open();
    const Request request = opencl::question_of(context().device(), saxpy_source()).value().request;
    Artifact garbage;
    garbage.sections.push_back({"binary", Bytes::copy_of("this is no binary of any driver")});
    garbage.sections.push_back({"hearth.conditions", watch::encode_conditions({})});
    ASSERT_TRUE(cache.insert(request, garbage).ok());
    const std::uint64_t before = opencl::rejected_binaries();

    const opencl::Program rebuilt = build(cache, saxpy_source());
    EXPECT_EQ(rebuilt.outcome(), opencl::Outcome::rebuilt);
    EXPECT_NE(rebuilt.reason().find("A stored binary of 31 bytes was refused"), std::string::npos) << rebuilt.reason();
    EXPECT_NE(rebuilt.reason().find("CL_"), std::string::npos) << rebuilt.reason();
    EXPECT_TRUE(rebuilt.kernel("saxpy").ok());
    EXPECT_EQ(opencl::rejected_binaries(), before + 1);
    EXPECT_EQ(cache.stats().compiles, 1U);

    EXPECT_EQ(build(cache, saxpy_source()).outcome(), opencl::Outcome::hit) << "the fresh one took its place";
    EXPECT_EQ(opencl::rejected_binaries(), before + 1);
}

TEST_F(OpenClPrograms, a_refused_binary_that_cannot_be_removed_is_built_past_it)
{
    Artifact garbage;
    garbage.sections.push_back({"binary", Bytes::copy_of("this is no binary of any driver")});
    garbage.sections.push_back({"hearth.conditions", watch::encode_conditions({})});
    const Request request = opencl::question_of(context().device(), saxpy_source()).value().request;
    ASSERT_TRUE(open().insert(request, garbage).ok());
    CacheOptions fixed = options();
    fixed.access = Access::read_only;
    Cache cache = Cache::open(fixed).value();
    for (int i = 0; i < 2; ++i) {
        const opencl::Program rebuilt = build(cache, saxpy_source());
        EXPECT_EQ(rebuilt.outcome(), opencl::Outcome::rebuilt);
        EXPECT_EQ(rebuilt.tier(), "");
        EXPECT_TRUE(rebuilt.kernel("saxpy").ok());
    }
}

TEST_F(OpenClPrograms, what_cannot_be_stored_is_built_every_time)
{
    Cache cache = open();
    opencl::Source source = saxpy_source();
    source.text += "#if 0\n#include \"not_there.h\"\n#endif\n";
    for (int i = 0; i < 2; ++i) {
        const opencl::Program program = build(cache, source);
        EXPECT_EQ(program.outcome(), opencl::Outcome::past_the_cache);
        EXPECT_NE(program.reason().find("#include"), std::string::npos) << program.reason();
        EXPECT_TRUE(program.kernel("saxpy").ok());
        EXPECT_FALSE(program.store_again().ok());
    }
    EXPECT_EQ(cache.stats().compiles, 2U);
    EXPECT_EQ(cache.stats().stores, 0U);
}

TEST_F(OpenClPrograms, threads_that_want_one_program_have_it_built_once)
{
    Cache cache = open();
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            const opencl::Program program = build(cache, saxpy_source());
            EXPECT_TRUE(program.kernel("saxpy").ok());
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(cache.stats().compiles, 1U);
}

TEST_F(OpenClPrograms, a_cache_that_cannot_store_changes_nothing_for_the_program)
{
    CacheOptions nothing = options();
    nothing.caching = Switch::off;
    Cache cache = Cache::open(nothing).value();
    const opencl::Program program = build(cache, saxpy_source());
    Result<opencl::Kernel> fill = program.kernel("fill");
    ASSERT_TRUE(fill.ok()) << fill.error().message;
    const opencl::Buffer out = context().buffer(4 * sizeof(int)).value();
    ASSERT_TRUE(fill->launch({.global = 4}, out, 5).ok());
    EXPECT_EQ(out.read_as<int>().value(), std::vector<int>(4, 5));
}

}  // namespace

}  // namespace hearth::test
