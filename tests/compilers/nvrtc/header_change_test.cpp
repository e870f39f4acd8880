#include "interposed_fopen.hpp"
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

TEST_F(HeaderChanges, changed_just_before_it_is_read_what_was_read_is_kept)
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
    EXPECT_EQ(opened, 1) << "no second compile is needed to know what was read";
    const nvrtc::Compiled now = compile(m_program);
    EXPECT_EQ(now.outcome(), Outcome::hit);
    expect_as_bare(now, m_program);
    set(10);
    const nvrtc::Compiled before = compile(m_program);
    EXPECT_EQ(before.outcome(), Outcome::compiled);
    expect_as_bare(before, m_program);
}

TEST_F(HeaderChanges, changed_right_after_it_was_opened_nothing_wrong_is_stored)
{
    int opened = 0;
    {
        const FopenWatch watch({}, [&](const std::string& path, bool) {
            if (is_the_header(path) && opened++ == 0)
                set(11);
        });
        const nvrtc::Compiled compiled = compile(m_program);
        EXPECT_FALSE(compiled.failed());
    }
    EXPECT_EQ(opened, 1);
    for (int i = 0; i < 2; ++i)
        expect_as_bare(compile(m_program), m_program);
    EXPECT_EQ(compile(m_program).outcome(), Outcome::hit);
}

TEST_F(HeaderChanges, overwritten_after_it_was_read_it_is_compiled_and_not_stored)
{
    write("inc/later.h", "");
    m_program.source = "#include <number.h>\n#include <later.h>\n__global__ void k(int* x) { *x = NUMBER; }";
    {
        const FopenWatch watch({}, [&](const std::string& path, bool) {
            if (path.ends_with("later.h"))
                write("inc/number.h", "#define NUMBER 12\n");
        });
        const nvrtc::Compiled compiled = compile(m_program);
        EXPECT_EQ(compiled.outcome(), Outcome::past_the_cache);
        EXPECT_FALSE(compiled.failed());
        EXPECT_NE(compiled.reason().find("changed while it was compiled"), std::string::npos) << compiled.reason();
    }
    EXPECT_EQ(m_cache->stats().stores, 0U);
}

}  // namespace

}  // namespace hearth::test
