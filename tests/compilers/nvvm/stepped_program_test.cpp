// Programs of libNVVM whose calls are answered one by one, where some of the answers come from the cache and the rest
// from libNVVM.
#include "compilers/nvvm/stepped_program.hpp"

#include "hearth/libraries.hpp"
#include "support/isolated_environment.hpp"
#include "support/nvvm_text.hpp"
#include "support/open_cache.hpp"
#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using nvvm::SteppedProgram;
using Call = SteppedProgram::Call;
using Kind = SteppedProgram::Kind;

class SteppedPrograms : public testing::Test {
protected:
    void SetUp() override
    {
        m_library = find_library({"libnvvm.so.4"});
        if (m_library.empty())
            GTEST_SKIP() << "There is no libnvvm here.";
    }
    static void add(SteppedProgram& program, std::string text, std::optional<std::string> name = "k.ll",
                    Kind kind = Kind::data)
    {
        program.add({.kind = kind, .name = std::move(name), .data = std::move(text)});
        program.assume(nvvm::k_success);
    }
    static Call call(Kind kind, const std::string& target = "compute_80")
    {
        return {.kind = kind, .options = {"-arch=" + target}, .type = 1};
    }
    compilers::Answer answer(SteppedProgram& program, Call call)
    {
        program.add(std::move(call));
        Result<compilers::Answer> answer = program.answer(m_cache);
        EXPECT_TRUE(answer.ok()) << answer.error().message;
        return *std::move(answer);
    }
    // Whether it had to be compiled.
    bool compiles(const std::vector<Call>& modules, const Call& last)
    {
        SteppedProgram program(m_library);
        for (const Call& module : modules)
            add(program, *module.data, module.name, module.kind);
        return answer(program, last).lookup.compiled();
    }

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
    Cache m_cache = open_cache(m_scratch / "cache");
    std::string m_library;
};

TEST_F(SteppedPrograms, everything_that_a_program_is_given_counts)
{
    const Call one{.kind = Kind::data, .name = "one.ll", .data = nvvm_text(1)};
    std::string text = nvvm_text(2);
    text.replace(text.find("@store("), 7, "@other(").replace(text.find("@store,"), 7, "@other,");
    const Call two{.kind = Kind::data, .name = "two.ll", .data = text};
    Call unnamed = one;
    unnamed.name.reset();
    Call empty_name = one;
    empty_name.name = "";
    Call lazy = one;
    lazy.kind = Kind::lazy_data;
    for (const char* time : {"miss", "hit"}) {
        SCOPED_TRACE(time);
        const bool first = time[0] == 'm';
        EXPECT_EQ(compiles({one}, call(Kind::complete)), first);
        EXPECT_EQ(compiles({one}, call(Kind::complete, "compute_90")), first);
        EXPECT_EQ(compiles({one}, call(Kind::verify)), first);
        EXPECT_EQ(compiles({one, two}, call(Kind::complete)), first);
        EXPECT_EQ(compiles({two, one}, call(Kind::complete)), first);
        EXPECT_EQ(compiles({one, one}, call(Kind::complete)), first);
        EXPECT_EQ(compiles({unnamed}, call(Kind::complete)), first);
        EXPECT_EQ(compiles({empty_name}, call(Kind::complete)), first);
        EXPECT_EQ(compiles({two, lazy}, call(Kind::complete)), first);
        EXPECT_EQ(compiles({}, call(Kind::complete)), first);
    }
}

TEST_F(SteppedPrograms, what_is_not_known_is_compiled_after_calls_that_are)
{
    {
        SteppedProgram program(m_library);
        add(program, nvvm_text(1));
        EXPECT_TRUE(answer(program, call(Kind::verify)).lookup.compiled());
    }
    std::string result;
    for (const bool miss : {true, false}) {
        SteppedProgram program(m_library);
        add(program, nvvm_text(1));
        EXPECT_FALSE(answer(program, call(Kind::verify)).lookup.compiled()) << "libNVVM has had no call so far";
        const compilers::Answer compiled = answer(program, call(Kind::complete));
        EXPECT_EQ(compiled.lookup.compiled(), miss);
        EXPECT_EQ(compiled.lookup->status, 0);
        EXPECT_NE(compiled.lookup->text("ptx").find(".entry store"), std::string_view::npos);
        EXPECT_EQ(compiled.lookup->metadata.label, "k.ll");
        EXPECT_EQ(compiled.lookup->metadata.target, "compute_80");
        EXPECT_EQ(compiled.lookup->metadata.compiler, "nvvm");
        EXPECT_EQ(miss ? compiled.lookup->text("ptx") : result, compiled.lookup->text("ptx"));
        result = compiled.lookup->text("ptx");
    }
}

TEST_F(SteppedPrograms, a_file_that_is_no_libnvvm_is_told_in_a_sentence)
{
    SteppedProgram program(find_library({"libc.so.6"}));
    add(program, nvvm_text(1));
    program.add(call(Kind::complete));
    const Artifact told = program.ask_the_library("a test");
    EXPECT_EQ(told.status, nvvm::k_compilation);
    EXPECT_NE(told.text("log").find("is no libnvvm that Hearth knows"), std::string_view::npos) << told.text("log");
    EXPECT_EQ(program.status_of(told, "ptx"), 0);
    EXPECT_EQ(told.text("ptx"), std::string_view("\0", 1));
}

}  // namespace

}  // namespace hearth::test
