#include "hearth/admin.hpp"
#include "opencl_test.hpp"
#include "support/forks.hpp"
#include "support/in_threads.hpp"

#include <atomic>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::test {

namespace {

class OpenClLaunches : public OpenClTest {
protected:
    static std::string refusal(const Status& status) { return status.ok() ? "" : status.error().message; }
    std::string launches(Cache& cache, const opencl::Program& program) const
    {
        const Lookup stored = cache.peek(program.request().key());
        return stored ? std::string(stored->text("launches")) : "nothing is stored";
    }
};

TEST_F(OpenClLaunches, give_the_right_numbers_in_two_dimensions_and_with_local_memory)
{
    Cache cache = open();
    const opencl::Program program = build(cache, {.text = R"(
kernel void sums(global int* out, local int* row)
{
    const size_t x = get_local_id(0);
    row[x] = (int)(get_global_id(0) + 10 * get_global_id(1));
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x == 0) {
        int sum = 0;
        for (size_t i = 0; i < get_local_size(0); ++i)
            sum += row[i];
        out[get_group_id(1)] = sum;
    }
}
)"});
    ASSERT_FALSE(program.failed()) << program.log();
    opencl::Kernel sums = program.kernel("sums").value();
    EXPECT_EQ(sums.argument_count(), 2U);
    const opencl::Buffer out = context().buffer(2 * sizeof(int)).value();
    EXPECT_EQ(refusal(sums.launch({.global = {4, 2}, .local = {4, 1}}, out, opencl::LocalMemory{4 * sizeof(int)})), "");
    EXPECT_EQ(out.read_as<int>().value(), (std::vector<int>{6, 46}));
}

// The driver's threads are not there, and whatever would wait for them has to be left alone.
TEST_F(OpenClLaunches, in_a_forked_child_are_refused_and_everything_ends)
{
    SKIP_FORKS_WITH_THREADS();
    Cache cache = open();
    std::optional<opencl::Program> program = build(cache, saxpy_source());
    std::optional<opencl::Kernel> fill = program->kernel("fill").value();
    std::optional<opencl::Buffer> out = context().buffer(4 * sizeof(int)).value();
    ASSERT_EQ(refusal(fill->launch({.global = 4}, *out, 5)), "");
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        const bool refused =
            refusal(fill->launch({.global = 4}, *out, 5)).find("before this process was forked") != std::string::npos &&
            !opencl::build(cache, context(), saxpy_source()).ok() && !program->kernel("fill").ok() &&
            !program->store_again().ok() && !context().finish().ok() && !out->read_as<int>().ok() &&
            !context().buffer(4).ok() && !opencl::Context::open(context().device()).ok() && !opencl::devices().ok();
        fill.reset();
        out.reset();
        program.reset();
        m_context.reset();
        ::_exit(refused ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(refusal(fill->launch({.global = 4}, *out, 6)), "") << "the parent goes on";
}

TEST_F(OpenClLaunches, arguments_are_counted_and_sized)
{
    Cache cache = open();
    const opencl::Program program = build(cache, saxpy_source());
    opencl::Kernel fill = program.kernel("fill").value();
    const opencl::Buffer out = context().buffer(4 * sizeof(int)).value();
    EXPECT_EQ(refusal(fill.launch({.global = 4}, out)), "Kernel \"fill\" takes 2 arguments and is given 1.");
    EXPECT_EQ(refusal(fill.launch({}, out, 5)), "Kernel \"fill\" is launched over no work-items. Give a global size.");
    const std::string wrong_size = refusal(fill.launch({.global = 4}, out, 5.0));
    EXPECT_NE(wrong_size.find("Argument 1 of kernel \"fill\", of 8 bytes, is not taken"), std::string::npos)
        << wrong_size;
    EXPECT_NE(wrong_size.find("CL_INVALID_ARG_SIZE (-51)"), std::string::npos) << wrong_size;
    const std::string uneven = refusal(fill.launch({.global = 4, .local = 1U << 30U}, out, 5));
    EXPECT_NE(uneven.find("CL_INVALID_WORK_GROUP_SIZE (-54)"), std::string::npos) << uneven;

    const Result<opencl::Kernel> missing = program.kernel("missing");
    ASSERT_FALSE(missing.ok());
    EXPECT_NE(missing.error().message.find("There is no kernel \"missing\""), std::string::npos)
        << missing.error().message;
    EXPECT_NE(missing.error().message.find("CL_INVALID_KERNEL_NAME (-46)"), std::string::npos)
        << missing.error().message;
}

TEST_F(OpenClLaunches, a_size_below_zero_is_refused_with_its_value)
{
    Cache cache = open();
    opencl::Kernel fill = build(cache, saxpy_source()).kernel("fill").value();
    const opencl::Buffer out = context().buffer(4 * sizeof(int)).value();
    const int below_zero = -7;
    const std::string refused = refusal(fill.launch({.global = static_cast<std::size_t>(below_zero)}, out, 5));
    EXPECT_NE(refused.find("18446744073709551609, and the device counts to"), std::string::npos) << refused;
    EXPECT_NE(refusal(fill.launch({.global = 4, .offset = static_cast<std::size_t>(below_zero)}, out, 5)), "");
}

TEST_F(OpenClLaunches, copies_of_a_kernel_that_threads_launch_at_once_keep_their_arguments_apart)
{
    constexpr int k_rounds = 500;
    Cache cache = open();
    const opencl::Kernel fill = build(cache, saxpy_source()).kernel("fill").value();
    std::atomic<int> wrong{0};
    in_threads(6, [&](std::uint64_t t) {
        opencl::Kernel mine = fill;
        const opencl::Buffer out = context().buffer(4 * sizeof(int)).value();
        for (int i = 0; i < k_rounds; ++i) {
            const int value = static_cast<int>(t) * k_rounds + i;
            if (!mine.launch({.global = 4}, out, value).ok() ||
                out.read_as<int>().value() != std::vector<int>(4, value))
                ++wrong;
        }
    });
    EXPECT_EQ(wrong, 0);
}

TEST_F(OpenClLaunches, the_binary_is_stored_again_after_the_first_launch_of_its_kind)
{
    Cache cache = open();
    const opencl::Program program = build(cache, saxpy_source());
    EXPECT_EQ(cache.stats().stores, 1U);
    EXPECT_EQ(launches(cache, program), "");
    opencl::Kernel fill = program.kernel("fill").value();
    const opencl::Buffer out = context().buffer(64 * sizeof(int)).value();
    ASSERT_TRUE(fill.launch({.global = 64, .local = 16}, out, 5).ok());
    EXPECT_EQ(cache.stats().stores, 2U);
    const std::string seen = launches(cache, program);
    if (seen == "any")
        GTEST_SKIP() << "This driver's binary is the same after a launch.";
    EXPECT_EQ(seen, "fill local 16x1x1\n");
    EXPECT_GT(cache.peek(program.request().key())->bytes("binary").size(), program.binary().size())
        << "it has the work-group's code now";

    ASSERT_TRUE(fill.launch({.global = 32, .local = 16}, out, 6).ok());
    EXPECT_EQ(cache.stats().stores, 2U) << "nothing new";
    EXPECT_EQ(cache.stats().compiles, 1U);
}

TEST_F(OpenClLaunches, the_binary_waits_for_every_kernel_that_was_asked_for)
{
    if (context().device().platform != "Portable Computing Language")
        GTEST_SKIP() << "This is about binaries that can be taken once, as PoCL's.";
    Cache cache = open();
    const opencl::Buffer out = context().buffer(64 * sizeof(int)).value();
    {
        const opencl::Program program = build(cache, saxpy_source());
        opencl::Kernel fill = program.kernel("fill").value();
        opencl::Kernel saxpy = program.kernel("saxpy").value();
        ASSERT_TRUE(fill.launch({.global = 64, .local = 16}, out, 5).ok());
        EXPECT_EQ(cache.stats().stores, 1U);
        ASSERT_TRUE(saxpy.launch({.global = 64, .local = 8}, out, out, 1.0F, 64U).ok());
        EXPECT_EQ(cache.stats().stores, 2U);
        EXPECT_EQ(launches(cache, program), "fill local 16x1x1\nsaxpy local 8x1x1\n");
    }
    admin::clear(cache);
    {
        const opencl::Program program = build(cache, saxpy_source());
        const opencl::Kernel saxpy = program.kernel("saxpy").value();
        ASSERT_TRUE(program.kernel("fill").value().launch({.global = 64, .local = 16}, out, 5).ok());
        EXPECT_EQ(cache.stats().stores, 3U);
    }
    EXPECT_EQ(cache.stats().stores, 4U) << "what is still to be stored is stored when the program ends";
}

TEST_F(OpenClLaunches, what_a_hit_has_seen_is_not_stored_again)
{
    Cache cache = open();
    const opencl::Buffer out = context().buffer(64 * sizeof(int)).value();
    for (int i = 0; i < 3; ++i) {
        const opencl::Program program = build(cache, saxpy_source());
        ASSERT_TRUE(program.kernel("fill").value().launch({.global = 64, .local = 16}, out, i).ok());
        EXPECT_EQ(out.read_as<int>().value(), std::vector<int>(64, i));
    }
    EXPECT_EQ(cache.stats().compiles, 1U);
    EXPECT_EQ(cache.stats().stores, 2U);
}

TEST_F(OpenClLaunches, a_caller_who_launches_by_other_means_stores_by_hand)
{
    Cache cache = open();
    const opencl::Program program = build(cache, saxpy_source());
    EXPECT_TRUE(program.store_again().ok());
    EXPECT_EQ(cache.stats().stores, 2U);
    EXPECT_EQ(build(cache, saxpy_source()).outcome(), opencl::Outcome::hit);
}

TEST_F(OpenClLaunches, a_program_stores_into_its_cache_wherever_that_was_moved)
{
    auto first = std::make_unique<Cache>(open());
    const opencl::Program program = build(*first, saxpy_source());
    Cache second = std::move(*first);
    first.reset();
    EXPECT_TRUE(program.store_again().ok());
    EXPECT_EQ(second.stats().stores, 2U);
}

TEST_F(OpenClLaunches, where_binaries_are_signed_one_without_a_signature_is_built_again)
{
    {
        Cache cache = open();
        build(cache, saxpy_source());
    }
    const SigningKey key = SigningKey::generate().value();
    ASSERT_TRUE(key.save(m_scratch / "build.key").ok());
    CacheOptions signing = options();
    signing.sign_with = m_scratch / "build.key";
    Cache cache = Cache::open(signing).value();
    const opencl::Program program = build(cache, saxpy_source());
    EXPECT_EQ(program.outcome(), opencl::Outcome::compiled);
    EXPECT_EQ(program.reason(), "untrusted");
    admin::clear_memory(cache);
    const opencl::Program read = build(cache, saxpy_source());
    ASSERT_EQ(read.outcome(), opencl::Outcome::hit);
    EXPECT_TRUE(read.store_again().ok()) << "what was signed may be signed again with the code of a launch";
}

}  // namespace

}  // namespace hearth::test
