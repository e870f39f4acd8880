// Programs that ask for automatic precompiled headers (--pch): what they get is what NVRTC gives without.
#include "nvrtc_fixture.hpp"

namespace hearth::test {

namespace {

using nvrtc::Outcome;
using nvrtc::Program;

class NvrtcPrecompiles : public NvrtcTest {
protected:
    // Kernels of one process share a header, and so does its precompiled form.
    Program kernel(const std::string& name) const
    {
        return {.source = "#include \"shared.h\"\n__global__ void " + name + "(int* x) { *x = VALUE; }\n",
                .name = name + ".cu",
                .options = {"--pch", "-I" + (m_scratch / "i")},
                .target = "compute_90"};
    }
    void expect(Outcome outcome, const Program& program)
    {
        const nvrtc::Compiled compiled = compile(program);
        EXPECT_EQ(to_string(compiled.outcome()), to_string(outcome)) << compiled.reason();
        Program without = program;
        std::erase(without.options, "--pch");
        expect_as_bare(compiled, without);
    }
};

// The first: beside the precompiled headers of other tests NVRTC has more to tell.
TEST_F(NvrtcPrecompiles, messages_about_headers_are_told_once_by_nvrtc_and_kept_for_nobody_else)
{
    write("i/shared.h", "#define VALUE 1\n#warning heed this\n");
    expect(Outcome::compiled, kernel("first"));
    EXPECT_EQ(compile(kernel("second")).outcome(), Outcome::past_the_cache);
    expect(Outcome::hit, kernel("first"));
}

TEST_F(NvrtcPrecompiles, every_kernel_is_kept_and_answered)
{
    write("i/shared.h", "#define VALUE 1\n");
    for (const Outcome outcome : {Outcome::compiled, Outcome::hit})
        for (const char* name : {"a", "b", "c"})
            expect(outcome, kernel(name));
    Program without = kernel("a");
    std::erase(without.options, "--pch");
    EXPECT_EQ(compile(without).outcome(), Outcome::hit) << "the option is no part of the question";
}

TEST_F(NvrtcPrecompiles, a_header_that_only_the_precompiled_one_has_read_is_a_condition_of_all)
{
    write("i/shared.h", "#define VALUE 1\n");
    for (const char* name : {"a", "b"})
        expect(Outcome::compiled, kernel(name));
    write("i/shared.h", "#define VALUE 2\n");
    // This process's NVRTC would not see the change either: it reads its precompiled header.
    for (const char* name : {"a", "b"}) {
        EXPECT_NE(nvrtc::explain(*m_cache, kernel(name)).value().differences.size(), 0U) << name;
        EXPECT_EQ(compile(kernel(name)).outcome(), Outcome::past_the_cache) << name;
    }
    write("i/shared.h", "#define VALUE 1\n");
    for (const char* name : {"a", "b"})
        expect(Outcome::hit, kernel(name));
}

TEST_F(NvrtcPrecompiles, a_header_that_tells_the_time_goes_past_the_cache_for_all)
{
    write("i/shared.h", "#define VALUE (__TIME__[7])\n");
    for (const char* name : {"a", "b"})
        EXPECT_EQ(compile(kernel(name)).outcome(), Outcome::past_the_cache) << name;
}

}  // namespace

}  // namespace hearth::test
