#include "headers/interposed_fopen.hpp"
#include "nvrtc_fixture.hpp"

namespace hearth::test {

namespace {

using nvrtc::Outcome;

// A header that is replaced at the very moment when NVRTC opens it, after it was read for the key.
class HeaderChanges : public NvrtcTest {
protected:
    void SetUp() override
    {
        NvrtcTest::SetUp();
        set(10);
        m_program = {.source = "#include <number.h>\n__global__ void k(int* x) { *x = NUMBER; }",
                     .options = {"-I" + (m_scratch / "inc")},
                     .target = "sm_90"};
    }
    // In one step, as editors and version control write.
    void set(int number) const
    {
        const std::string fresh = write("inc/fresh", "#define NUMBER " + std::to_string(number) + "\n");
        std::filesystem::rename(fresh, m_scratch / "inc/number.h");
    }
    static bool is_the_header(const std::string& path) { return path.ends_with("inc/number.h"); }

    nvrtc::Program m_program;
};

TEST_F(HeaderChanges, changed_once_while_it_is_read_the_new_code_is_given_and_the_old_key_stays_empty)
{
    int opened = 0;
    {
        const FopenWatch watch(
            [&](const std::string& path) {
                if (is_the_header(path) && opened++ == 0)
                    set(11);
            },
            {});
        const nvrtc::Compiled compiled = compile(m_program);
        EXPECT_EQ(compiled.outcome(), Outcome::compiled);
    }
    EXPECT_EQ(opened, 2) << "compiled again, with the header as it now is";
    const nvrtc::Compiled now = compile(m_program);
    EXPECT_EQ(now.outcome(), Outcome::hit);
    expect_as_bare(now, m_program);
    set(10);
    const nvrtc::Compiled before = compile(m_program);
    EXPECT_EQ(before.outcome(), Outcome::compiled);
    expect_as_bare(before, m_program);
}

TEST_F(HeaderChanges, changed_and_changed_back_while_it_is_read_nothing_wrong_is_stored)
{
    int opened = 0;
    {
        const FopenWatch watch(
            [&](const std::string& path) {
                if (is_the_header(path) && opened == 0)
                    set(11);
            },
            [&](const std::string& path, bool) {
                if (is_the_header(path) && opened++ == 0)
                    set(10);
            });
        compile(m_program);
    }
    EXPECT_EQ(opened, 2);
    const nvrtc::Compiled now = compile(m_program);
    EXPECT_EQ(now.outcome(), Outcome::hit);
    expect_as_bare(now, m_program);
}

TEST_F(HeaderChanges, one_that_keeps_changing_is_compiled_and_not_stored)
{
    int opened = 0;
    {
        const FopenWatch watch(
            [&](const std::string& path) {
                if (is_the_header(path))
                    set(20 + opened++);
            },
            {});
        const nvrtc::Compiled compiled = compile(m_program);
        EXPECT_EQ(compiled.outcome(), Outcome::past_the_cache);
        EXPECT_FALSE(compiled.failed());
        EXPECT_NE(compiled.reason().find("keep changing"), std::string::npos) << compiled.reason();
    }
    EXPECT_GT(opened, 1);
    EXPECT_EQ(m_cache->stats().stores, 0U);
}

}  // namespace

}  // namespace hearth::test
