#include "compilers/opencl/request.hpp"
#include "opencl_test.hpp"
#include "support/in_threads.hpp"
#include "support/process.hpp"
#include "watch/manifest.hpp"

#include <filesystem>

namespace hearth::test {

namespace {

class OpenClPrograms : public OpenClTest {
protected:
    // In the place of saxpy's binary.
    void insert_what_no_driver_takes()
    {
        Artifact garbage;
        garbage.sections.push_back({"binary", Bytes::copy_of("this is no binary of any driver")});
        garbage.sections.push_back({"hearth.conditions", watch::encode_conditions({})});
        const Request request = opencl::question_of(context().device(), saxpy_source()).value().request;
        ASSERT_TRUE(m_cache->insert(request, garbage).ok());
    }
};

TEST_F(OpenClPrograms, are_compiled_once_and_then_made_of_their_binary)
{
    const opencl::Program first = build();
    EXPECT_FALSE(first.failed()) << first.log();
    EXPECT_EQ(first.outcome(), opencl::Outcome::compiled);
    EXPECT_EQ(first.reason(), "absent");
    EXPECT_FALSE(first.binary().empty());
    EXPECT_EQ(first.artifact().metadata.label, "saxpy.cl");
    EXPECT_EQ(first.artifact().metadata.target, context().device().name);

    const opencl::Program second = build();
    EXPECT_EQ(second.outcome(), opencl::Outcome::hit);
    EXPECT_NE(second.handle(), first.handle());
    EXPECT_TRUE(second.kernel("saxpy").ok());
    EXPECT_EQ(m_cache->stats().compiles, 1U);
    EXPECT_EQ(m_cache->stats().hits, 1U);
}

TEST_F(OpenClPrograms, a_build_error_comes_with_its_log_and_is_remembered)
{
    opencl::Source source = saxpy_source();
    source.text += "kernel void broken(global int* out) { out[0] = no_such_thing; }\n";
    const opencl::Program first = build(source);
    EXPECT_TRUE(first.failed());
    EXPECT_EQ(first.status(), -11);  // CL_BUILD_PROGRAM_FAILURE
    EXPECT_NE(first.log().find("no_such_thing"), std::string::npos) << first.log();
    EXPECT_EQ(first.handle(), nullptr);
    const Result<opencl::Kernel> kernel = first.kernel("saxpy");
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().message, "Kernel \"saxpy\" cannot be had: its program did not build.");
    EXPECT_EQ(kernel.error().log, first.log());

    const opencl::Program second = build(source);
    EXPECT_TRUE(second.failed());
    EXPECT_EQ(second.outcome(), opencl::Outcome::hit);
    EXPECT_EQ(second.log(), first.log());
    EXPECT_EQ(m_cache->stats().compiles, 1U);
    EXPECT_EQ(m_cache->stats().failures_replayed, 1U);
}

TEST_F(OpenClPrograms, the_build_log_is_told_again_on_a_hit)
{
    opencl::Source source = saxpy_source();
    source.text += "#warning heed this\n";
    const opencl::Program first = build(source);
    if (first.failed() || first.log().empty())
        GTEST_SKIP() << "This driver writes no log of a warning.";
    const opencl::Program second = build(source);
    EXPECT_EQ(second.outcome(), opencl::Outcome::hit);
    EXPECT_EQ(second.log(), first.log());
}

TEST_F(OpenClPrograms, a_binary_that_the_driver_refuses_is_replaced_by_a_fresh_build)
{
    insert_what_no_driver_takes();
    const std::uint64_t before = opencl::rejected_binaries();

    const opencl::Program rebuilt = build();
    EXPECT_EQ(rebuilt.outcome(), opencl::Outcome::rebuilt);
    EXPECT_NE(rebuilt.reason().find("A stored binary of 31 bytes was refused"), std::string::npos) << rebuilt.reason();
    EXPECT_NE(rebuilt.reason().find("CL_"), std::string::npos) << rebuilt.reason();
    EXPECT_TRUE(rebuilt.kernel("saxpy").ok());
    EXPECT_EQ(opencl::rejected_binaries(), before + 1);
    EXPECT_EQ(m_cache->stats().compiles, 1U);

    EXPECT_EQ(build().outcome(), opencl::Outcome::hit) << "the fresh one took its place";
    EXPECT_EQ(opencl::rejected_binaries(), before + 1);
}

TEST_F(OpenClPrograms, a_refused_binary_that_cannot_be_removed_is_built_past_it)
{
    insert_what_no_driver_takes();
    m_cache.emplace(open({.access = Access::read_only}));
    for (int i = 0; i < 2; ++i) {
        const opencl::Program rebuilt = build();
        EXPECT_EQ(rebuilt.outcome(), opencl::Outcome::rebuilt);
        EXPECT_EQ(rebuilt.tier(), "");
        EXPECT_TRUE(rebuilt.kernel("saxpy").ok());
    }
}

TEST_F(OpenClPrograms, what_cannot_be_stored_is_built_every_time)
{
    opencl::Source source = saxpy_source();
    source.text += "#if 0\n#include \"not_there.h\"\n#endif\n";
    for (int i = 0; i < 2; ++i) {
        const opencl::Program program = build(source);
        EXPECT_EQ(program.outcome(), opencl::Outcome::past_the_cache);
        EXPECT_NE(program.reason().find("#include"), std::string::npos) << program.reason();
        EXPECT_TRUE(program.kernel("saxpy").ok());
        EXPECT_FALSE(program.store_again().ok());
    }
    EXPECT_EQ(m_cache->stats().compiles, 2U);
    EXPECT_EQ(m_cache->stats().stores, 0U);
}

TEST_F(OpenClPrograms, threads_that_want_one_program_have_it_built_once)
{
    in_threads(4, [&](std::uint64_t) { EXPECT_TRUE(build().kernel("saxpy").ok()); });
    EXPECT_EQ(m_cache->stats().compiles, 1U);
}

TEST_F(OpenClPrograms, a_cache_that_cannot_store_changes_nothing_for_the_program)
{
    m_cache.emplace(Cache::open({.caching = Switch::off}).value());
    const opencl::Program program = build();
    Result<opencl::Kernel> fill = program.kernel("fill");
    ASSERT_TRUE(fill.ok()) << fill.error().message;
    const opencl::Buffer out = buffer_of_ints(4);
    ASSERT_TRUE(fill->launch({.global = 4}, out, 5).ok());
    EXPECT_EQ(out.read_as<int>().value(), std::vector<int>(4, 5));
}

class OpenClProcesses : public OpenClTest {
protected:
    // What a new process says that builds saxpy and launches it: outcome, right or wrong, hits, makes, stores, files.
    // Where PoCL keeps its files is a fresh, empty place each time.
    enum class PoclCache : std::uint8_t { off, on };
    std::string worker(const std::vector<std::string>& local_sizes, PoclCache cache = PoclCache::off)
    {
        const std::string pocl = m_scratch / ("pocl" + std::to_string(m_processes++));
        std::filesystem::create_directory(pocl);
        ProcessOptions options;
        options.environment = {{"POCL_KERNEL_CACHE", cache == PoclCache::on ? "1" : "0"}, {"POCL_CACHE_DIR", pocl}};
        std::vector<std::string> command{HEARTH_OPENCL_WORKER, m_scratch / "cache"};
        command.insert(command.end(), local_sizes.begin(), local_sizes.end());
        const ProcessResult result = run_process(command, options);
        EXPECT_EQ(result.exit_code, 0) << result.err;
        return result.out;
    }

    int m_processes = 0;
};

TEST_F(OpenClProcesses, the_second_builds_nothing_and_gets_the_right_numbers)
{
    const std::string first = worker({"64"});
    EXPECT_TRUE(first.starts_with("miss right 0 1 2 ")) << first << "stored when built, and again when launched";
    EXPECT_EQ(worker({"64"}), "hit right 1 0 0 0\n") << "nothing is compiled at its first launch";
    const std::string unseen = worker({"16"});
    EXPECT_TRUE(unseen.starts_with("hit right 1 0 ")) << unseen;
}

TEST_F(OpenClProcesses, every_local_size_is_stored_where_the_driver_keeps_its_code)
{
    const std::string first = worker({"64", "16"}, PoclCache::on);
    if (first.starts_with("miss right 0 1 2 "))
        GTEST_SKIP() << "This driver's binary is the same after a launch.";
    EXPECT_TRUE(first.starts_with("miss right 0 1 3 ")) << first;
    EXPECT_EQ(worker({"64", "16"}), "hit right 1 0 0 0\n");
}

}  // namespace

}  // namespace hearth::test
