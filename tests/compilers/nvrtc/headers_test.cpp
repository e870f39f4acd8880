#include "hearth/admin.hpp"
#include "nvrtc_fixture.hpp"

namespace hearth::test {

namespace {

using nvrtc::Outcome;
using nvrtc::Program;

// Header files in the request: by content, wherever they lie. Files that are edited, removed and missing at first are
// in the conformance suite, and in random_worlds_test.cpp at random.
class NvrtcHeaders : public NvrtcTest {
protected:
    void SetUp() override
    {
        NvrtcTest::SetUp();
        write("one/placeholder.txt", "");
        write("two/value.h", "#include \"detail/number.h\"\n#define VALUE NUMBER\n");
        write("two/detail/number.h", "#define NUMBER 1\n");
        write("two/unrelated.h", "int unrelated;\n");
        write("program/local.h", "int local_unused() { int warned; return 0; }\n");
    }
    Program program(const std::string& root = ".") const
    {
        return {
            .source = "#include \"local.h\"\n#include <value.h>\n__global__ void k(int* x) { *x = VALUE; }",
            .name = m_scratch / (root + "/program/main.cu"),
            .options = {"-I" + (m_scratch / (root + "/one")), "-I" + (m_scratch / (root + "/two")), "-default-device"},
            .target = "sm_90"};
    }
    void copy_tree_to_moved() const
    {
        std::filesystem::create_directory(m_scratch / "moved");
        for (const char* folder : {"one", "two", "program"})
            std::filesystem::copy(m_scratch / folder, m_scratch / (std::string("moved/") + folder),
                                  std::filesystem::copy_options::recursive);
    }
    void expect(Outcome outcome, const Program& what)
    {
        const nvrtc::Compiled compiled = compile(what);
        EXPECT_EQ(compiled.outcome(), outcome) << compiled.reason();
        expect_as_bare(compiled, what);
    }
};

TEST_F(NvrtcHeaders, a_header_added_earlier_on_the_path_is_a_miss_and_the_new_code)
{
    expect(Outcome::compiled, program());
    write("one/value.h", "#define VALUE 3\n");
    expect(Outcome::compiled, program());
    std::filesystem::remove(m_scratch / "one/value.h");
    expect(Outcome::hit, program());
}

TEST_F(NvrtcHeaders, an_unrelated_file_does_not_matter)
{
    expect(Outcome::compiled, program());
    write("two/unrelated.h", "int changed;\n");
    write("one/another.h", "");
    write("program/notes.txt", "");
    expect(Outcome::hit, program());
}

TEST_F(NvrtcHeaders, a_tree_that_moved_is_a_hit_with_its_own_paths_in_the_log)
{
    const nvrtc::Compiled here = compile(program());
    EXPECT_NE(here.log().find(m_scratch / "./program/local.h"), std::string::npos) << here.log();
    copy_tree_to_moved();
    expect(Outcome::hit, program("moved"));
    EXPECT_EQ(m_cache->stats().compiles, 1U);
    expect(Outcome::hit, program("moved"));
}

TEST_F(NvrtcHeaders, with_line_information_a_tree_that_moved_is_compiled_for_its_own_paths)
{
    Program here = program();
    here.options.emplace_back("-lineinfo");
    expect(Outcome::compiled, here);
    copy_tree_to_moved();
    Program moved = program("moved");
    moved.options.emplace_back("-lineinfo");
    expect(Outcome::compiled, moved);
}

TEST_F(NvrtcHeaders, beside_a_program_count_where_its_directory_is_new_each_time)
{
    const auto in = [&](const std::string& directory) {
        return Program{.source = "#include <value.h>\n#if __has_include(\"extra.h\")\n#include \"extra.h\"\n#endif\n"
                                 "#ifndef EXTRA\n#define EXTRA 0\n#endif\n"
                                 "__global__ void k(int* x) { *x = VALUE + EXTRA; }",
                       .name = m_scratch / (directory + "/main.cu"),
                       .options = {"-I" + (m_scratch / "two")},
                       .target = "sm_90"};
    };
    write("third/extra.h", "#define EXTRA 7\n");
    expect(Outcome::compiled, in("first"));
    expect(Outcome::hit, in("second"));
    expect(Outcome::compiled, in("third"));  // a header lies beside it
    expect(Outcome::hit, in("first"));
    write("first/extra.h", "#define EXTRA 8\n");
    expect(Outcome::compiled, in("first"));
    expect(Outcome::hit, in("third"));
}

TEST_F(NvrtcHeaders, headers_given_with_the_program_count_by_name_and_content)
{
    Program given{.source = "#include \"given.h\"\n__global__ void k(int* x) { *x = GIVEN; }",
                  .headers = {{"given.h", "#define GIVEN 1\n"}},
                  .target = "sm_90"};
    expect(Outcome::compiled, given);
    expect(Outcome::hit, given);
    given.headers[0].content = "#define GIVEN 2\n";
    expect(Outcome::compiled, given);
}

TEST_F(NvrtcHeaders, a_source_of_megabytes_is_no_trouble)
{
    std::string source = "#include <value.h>\n";
    while (source.size() < (8U << 20U))
        source += "// a comment that makes the source long: include nothing, define nothing, and go on\n";
    source += "__global__ void k(int* x) { *x = VALUE; }";
    const Program large{.source = source, .options = {"-I" + (m_scratch / "two")}, .target = "sm_90"};
    expect(Outcome::compiled, large);
    expect(Outcome::hit, large);
}

}  // namespace

}  // namespace hearth::test
