#include "hearth/admin.hpp"
#include "opencl_test.hpp"
#include "support/forks.hpp"
#include "support/in_threads.hpp"

#include <atomic>
#include <unistd.h>

namespace hearth::test {

namespace {

class OpenClLaunches : public OpenClTest {
protected:
    static std::string refusal(const Status& status) { return status.ok() ? "" : status.error().message; }
    std::string launches(const opencl::Program& program)
    {
        const Lookup stored = m_cache->peek(program.request().key());
        return stored ? std::string(stored->text("launches")) : "nothing is stored";
    }
};

TEST_F(OpenClLaunches, give_the_right_numbers_in_two_dimensions_and_with_local_memory)
{
    const opencl::Program program = build({.text = R"(
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
    const opencl::Buffer out = buffer_of_ints(2);
    EXPECT_EQ(refusal(sums.launch({.global = {4, 2}, .local = {4, 1}}, out, opencl::LocalMemory{4 * sizeof(int)})), "");
    EXPECT_EQ(out.read_as<int>().value(), (std::vector<int>{6, 46}));
}

// The driver's threads are not there, and whatever would wait for them has to be left alone.
TEST_F(OpenClLaunches, in_a_forked_child_are_refused_and_everything_ends)
{
    SKIP_FORKS_WITH_THREADS();
    std::optional<opencl::Program> program = build();
    std::optional<opencl::Kernel> fill = program->kernel("fill").value();
    std::optional<opencl::Buffer> out = buffer_of_ints(4);
    ASSERT_EQ(refusal(fill->launch({.global = 4}, *out, 5)), "");
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(60);
        const bool refused =
            refusal(fill->launch({.global = 4}, *out, 5)).find("before this process was forked") != std::string::npos &&
            !opencl::build(*m_cache, context(), saxpy_source()).ok() && !program->kernel("fill").ok() &&
            !program->store_again().ok() && !context().finish().ok() && !out->read_as<int>().ok() &&
            !context().buffer(4).ok() && !opencl::Context::open(context().device()).ok() && !opencl::devices().ok();
        fill.reset();
        out.reset();
        program.reset();
        m_context.reset();
        ::_exit(refused ? 0 : 1);
    }
    EXPECT_TRUE(child_was_right(child));
    EXPECT_EQ(refusal(fill->launch({.global = 4}, *out, 6)), "") << "the parent goes on";
}

TEST_F(OpenClLaunches, arguments_are_counted_and_sized_and_sizes_below_zero_refused)
{
    const opencl::Program program = build();
    opencl::Kernel fill = program.kernel("fill").value();
    const opencl::Buffer out = buffer_of_ints(4);
    EXPECT_EQ(refusal(fill.launch({.global = 4}, out)), "Kernel \"fill\" takes 2 arguments and is given 1.");
    EXPECT_EQ(refusal(fill.launch({}, out, 5)), "Kernel \"fill\" is launched over no work-items. Give a global size.");
    const std::string wrong_size = refusal(fill.launch({.global = 4}, out, 5.0));
    EXPECT_NE(wrong_size.find("Argument 1 of kernel \"fill\", of 8 bytes, is not taken"), std::string::npos)
        << wrong_size;
    EXPECT_NE(wrong_size.find("CL_INVALID_ARG_SIZE (-51)"), std::string::npos) << wrong_size;
    const std::string uneven = refusal(fill.launch({.global = 4, .local = 1U << 30U}, out, 5));
    EXPECT_NE(uneven.find("CL_INVALID_WORK_GROUP_SIZE (-54)"), std::string::npos) << uneven;

    const auto below_zero = static_cast<std::size_t>(-7);
    const std::string refused = refusal(fill.launch({.global = below_zero}, out, 5));
    EXPECT_NE(refused.find("18446744073709551609, and the device counts to"), std::string::npos) << refused;
    EXPECT_NE(refusal(fill.launch({.global = 4, .offset = below_zero}, out, 5)), "");

    const Result<opencl::Kernel> missing = program.kernel("missing");
    ASSERT_FALSE(missing.ok());
    EXPECT_NE(missing.error().message.find("There is no kernel \"missing\""), std::string::npos)
        << missing.error().message;
    EXPECT_NE(missing.error().message.find("CL_INVALID_KERNEL_NAME (-46)"), std::string::npos)
        << missing.error().message;
}

TEST_F(OpenClLaunches, copies_of_a_kernel_that_threads_launch_at_once_keep_their_arguments_apart)
{
    constexpr int k_rounds = 500;
    const opencl::Kernel fill = build().kernel("fill").value();
    std::atomic<int> wrong{0};
    in_threads(6, [&](std::uint64_t t) {
        opencl::Kernel mine = fill;
        const opencl::Buffer out = buffer_of_ints(4);
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
    const opencl::Program program = build();
    EXPECT_EQ(m_cache->stats().stores, 1U);
    EXPECT_EQ(launches(program), "");
    opencl::Kernel fill = program.kernel("fill").value();
    const opencl::Buffer out = buffer_of_ints(64);
    ASSERT_TRUE(fill.launch({.global = 64, .local = 16}, out, 5).ok());
    EXPECT_EQ(m_cache->stats().stores, 2U);
    const std::string seen = launches(program);
    if (seen == "any")
        GTEST_SKIP() << "This driver's binary is the same after a launch.";
    EXPECT_EQ(seen, "fill local 16x1x1\n");
    EXPECT_GT(m_cache->peek(program.request().key())->bytes("binary").size(), program.binary().size())
        << "it has the work-group's code now";

    ASSERT_TRUE(fill.launch({.global = 32, .local = 16}, out, 6).ok());
    EXPECT_EQ(m_cache->stats().stores, 2U) << "nothing new";
    EXPECT_EQ(m_cache->stats().compiles, 1U);
}

TEST_F(OpenClLaunches, the_binary_waits_for_every_kernel_that_was_asked_for)
{
    if (context().device().platform != "Portable Computing Language")
        GTEST_SKIP() << "This is about binaries that can be taken once, as PoCL's.";
    const opencl::Buffer out = buffer_of_ints(64);
    {
        const opencl::Program program = build();
        opencl::Kernel fill = program.kernel("fill").value();
        opencl::Kernel saxpy = program.kernel("saxpy").value();
        ASSERT_TRUE(fill.launch({.global = 64, .local = 16}, out, 5).ok());
        EXPECT_EQ(m_cache->stats().stores, 1U);
        ASSERT_TRUE(saxpy.launch({.global = 64, .local = 8}, out, out, 1.0F, 64U).ok());
        EXPECT_EQ(m_cache->stats().stores, 2U);
        EXPECT_EQ(launches(program), "fill local 16x1x1\nsaxpy local 8x1x1\n");
    }
    admin::clear(*m_cache);
    {
        const opencl::Program program = build();
        const opencl::Kernel saxpy = program.kernel("saxpy").value();
        ASSERT_TRUE(program.kernel("fill").value().launch({.global = 64, .local = 16}, out, 5).ok());
        EXPECT_EQ(m_cache->stats().stores, 3U);
    }
    EXPECT_EQ(m_cache->stats().stores, 4U) << "what is still to be stored is stored when the program ends";
}

TEST_F(OpenClLaunches, what_a_hit_has_seen_is_not_stored_again)
{
    const opencl::Buffer out = buffer_of_ints(64);
    for (int i = 0; i < 3; ++i) {
        const opencl::Program program = build();
        ASSERT_TRUE(program.kernel("fill").value().launch({.global = 64, .local = 16}, out, i).ok());
        EXPECT_EQ(out.read_as<int>().value(), std::vector<int>(64, i));
    }
    EXPECT_EQ(m_cache->stats().compiles, 1U);
    EXPECT_EQ(m_cache->stats().stores, 2U);
}

TEST_F(OpenClLaunches, a_caller_who_launches_by_other_means_stores_by_hand_wherever_the_cache_was_moved)
{
    const opencl::Program program = build();
    Cache moved = *std::move(m_cache);
    m_cache.reset();
    EXPECT_TRUE(program.store_again().ok());
    EXPECT_EQ(moved.stats().stores, 2U);
    EXPECT_EQ(build(moved).outcome(), opencl::Outcome::hit);
}

TEST_F(OpenClLaunches, where_binaries_are_signed_one_without_a_signature_is_built_again)
{
    build();
    const SigningKey key = SigningKey::generate().value();
    ASSERT_TRUE(key.save(m_scratch / "build.key").ok());
    m_cache.emplace(open({.sign_with = m_scratch / "build.key"}));
    const opencl::Program program = build();
    EXPECT_EQ(program.outcome(), opencl::Outcome::compiled);
    EXPECT_EQ(program.reason(), "untrusted");
    admin::clear_memory(*m_cache);
    const opencl::Program read = build();
    ASSERT_EQ(read.outcome(), opencl::Outcome::hit);
    EXPECT_TRUE(read.store_again().ok()) << "what was signed may be signed again with the code of a launch";
}

}  // namespace

}  // namespace hearth::test
