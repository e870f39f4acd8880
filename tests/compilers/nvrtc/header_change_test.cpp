#include "nvrtc_fixture.hpp"

#include <cstdio>
#include <dlfcn.h>
#include <functional>
#include <utility>

namespace {

// Every fopen of this program and of the libraries that it has loaded tells these of its path, before the file is
// opened and after: NVRTC reads headers with it. The compile is in one thread.
std::function<void(const std::string&)> g_before;
std::function<void(const std::string&)> g_after;
thread_local bool t_inside = false;  // what they open themselves is not told

FILE* watched(const char* function, const char* path, const char* mode)
{
    using Fopen = FILE*(const char*, const char*);
    const bool tell = path != nullptr && !std::exchange(t_inside, true);
    if (tell && g_before)
        g_before(path);
    FILE* const file = reinterpret_cast<Fopen*>(::dlsym(RTLD_NEXT, function))(path, mode);
    if (tell && g_after)
        g_after(path);
    if (tell)
        t_inside = false;
    return file;
}

}  // namespace

// These take the place of the C library's. The program exports its symbols.
extern "C" __attribute__((visibility("default"))) FILE* fopen(const char* path, const char* mode)
{
    return watched("fopen", path, mode);
}
extern "C" __attribute__((visibility("default"))) FILE* fopen64(const char* path, const char* mode)
{
    return watched("fopen64", path, mode);
}

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
        m_program = program("#include <value.h>", {include("inc")}, "sm_90");
    }
    void TearDown() override
    {
        g_before = {};
        g_after = {};
        NvrtcTest::TearDown();
    }
    // In one step, as editors and version control write.
    void set(int number) const
    {
        const std::string fresh = write("inc/fresh", "#define VALUE " + std::to_string(number) + "\n");
        std::filesystem::rename(fresh, m_scratch / "inc/value.h");
    }
    static bool is_the_header(const std::string& path) { return path.ends_with("inc/value.h"); }

    nvrtc::Program m_program;
};

TEST_F(HeaderChanges, changed_just_before_it_is_read_what_was_read_is_kept)
{
    int opened = 0;
    g_before = [&](const std::string& path) {
        if (is_the_header(path) && opened++ == 0)
            set(11);
    };
    EXPECT_EQ(compile(m_program).outcome(), Outcome::compiled);
    EXPECT_EQ(opened, 1) << "no second compile is needed to know what was read";
    expect(Outcome::hit, m_program);
    set(10);
    expect(Outcome::compiled, m_program);
}

TEST_F(HeaderChanges, changed_right_after_it_was_opened_nothing_wrong_is_stored)
{
    int opened = 0;
    g_after = [&](const std::string& path) {
        if (is_the_header(path) && opened++ == 0)
            set(11);
    };
    EXPECT_FALSE(compile(m_program).failed());
    EXPECT_EQ(opened, 1);
    for (int i = 0; i < 2; ++i)
        expect_as_bare(compile(m_program), m_program);
    EXPECT_EQ(compile(m_program).outcome(), Outcome::hit);
}

TEST_F(HeaderChanges, overwritten_after_it_was_read_it_is_compiled_and_not_stored)
{
    write("inc/later.h", "");
    m_program = program("#include <value.h>\n#include <later.h>", m_program.options, "sm_90");
    g_after = [&](const std::string& path) {
        if (path.ends_with("later.h"))
            write("inc/value.h", "#define VALUE 12\n");
    };
    const nvrtc::Compiled compiled = compile(m_program);
    EXPECT_EQ(compiled.outcome(), Outcome::past_the_cache);
    EXPECT_FALSE(compiled.failed());
    EXPECT_NE(compiled.reason().find("changed while it was compiled"), std::string::npos) << compiled.reason();
    EXPECT_EQ(m_cache->stats().stores, 0U);
}

}  // namespace

}  // namespace hearth::test
