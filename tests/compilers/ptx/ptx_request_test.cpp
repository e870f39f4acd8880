// What is decided before anything is linked: the request, and what is refused.

#include "ptx_test.hpp"
#include "watch/manifest.hpp"

#include <filesystem>
#include <set>

namespace hearth::test {

namespace {

class PtxRequests : public PtxTest {
protected:
    PtxRequests() { m_environment.set("HEARTH_NVJITLINK", "/proc/self/exe"); }

    // A file that could be loaded, so that requests can be made where no libnvJitLink is; but it has no functions.
    Key key_of(const ptx::Program& program) { return ptx::make_plan(m_cache, program).value().question.request.key(); }
    std::string refusal_of(const ptx::Program& program, const ptx::CompileOptions& options = {})
    {
        const Result<ptx::Plan> planned = ptx::make_plan(m_cache, program, options);
        return planned.ok() ? "" : planned.error().message;
    }

    Cache m_cache = open();
};

TEST_F(PtxRequests, every_member_of_a_program_is_in_its_key)
{
    const ptx::Program program = program_of(ptx_text());
    std::vector<ptx::Program> programs(7, program);
    programs[1].text += " ";
    programs[2].name = "other.ptx";
    programs[3].target = "sm_80";
    programs[4].options = {"-O3", "-g"};
    programs[5].options = {"-g", "-O3"};
    programs[6].input = ptx::Input::lto_ir;
    std::set<Key> keys;
    for (const ptx::Program& each : programs)
        keys.insert(key_of(each));
    EXPECT_EQ(keys.size(), programs.size());
    EXPECT_EQ(key_of(program), key_of(programs[0]));
}

TEST_F(PtxRequests, another_linker_is_another_key)
{
    const Key one = key_of(program_of(ptx_text()));
    std::filesystem::copy_file("/proc/self/exe", m_scratch / "other.so");
    // The same build under another name is the same linker.
    m_environment.set("HEARTH_NVJITLINK", m_scratch / "other.so");
    EXPECT_EQ(key_of(program_of(ptx_text())), one);
    m_environment.set("HEARTH_NVJITLINK", "/bin/sh");  // any other file that could be loaded
    EXPECT_NE(key_of(program_of(ptx_text())), one);
}

TEST_F(PtxRequests, a_zero_at_the_end_only_ends_the_text_and_one_in_the_middle_is_refused_with_its_place)
{
    EXPECT_EQ(key_of(program_of(ptx_text() + '\0')), key_of(program_of(ptx_text())));
    std::string text = ptx_text();
    text[20] = '\0';
    EXPECT_EQ(refusal_of(program_of(text)),
              "The PTX has a zero byte at offset 20, where a compiler would stop reading. Remove it.");
    for (const std::string& empty : {std::string(), std::string(2, '\0')})
        EXPECT_EQ(refusal_of(program_of(empty)), "The PTX is empty. Give the text of a module.");
}

TEST_F(PtxRequests, a_target_is_given_once)
{
    ptx::Program program = program_of(ptx_text());
    program.target.clear();
    EXPECT_NE(refusal_of(program).find("No target is given"), std::string::npos);
    program.options = {"-arch=sm_90"};
    EXPECT_EQ(key_of(program), key_of(program_of(ptx_text())));
    program.target = "sm_80";
    EXPECT_NE(refusal_of(program).find("The target is given twice: as \"sm_80\" and with the option -arch=sm_90"),
              std::string::npos);
}

TEST_F(PtxRequests, a_library_that_is_not_there_is_named_and_one_for_another_processor_refused)
{
    const std::string library = m_scratch / "libnvJitLink.so";
    m_environment.set("HEARTH_NVJITLINK", library);
    const std::string absent = refusal_of(program_of(ptx_text()));
    EXPECT_NE(absent.find(library), std::string::npos) << absent;
    EXPECT_NE(absent.find("HEARTH_NVJITLINK"), std::string::npos) << absent;
    std::string bytes = read_file("/proc/self/exe").substr(0, 4096);
    constexpr std::size_t k_machine = 18;  // e_machine, in an ELF file's header
    bytes[k_machine] = static_cast<char>(bytes[k_machine] + 1);
    write_file(library, bytes);
    const std::string other = refusal_of(program_of(ptx_text()));
    EXPECT_NE(other.find("a library for another kind of processor"), std::string::npos) << other;
}

TEST_F(PtxRequests, a_hit_does_not_load_the_linker)
{
    const ptx::Program program = program_of(ptx_text());
    const Result<ptx::Compiled> missed = ptx::compile(m_cache, program);
    ASSERT_FALSE(missed.ok()) << "what stands in for libnvJitLink cannot be loaded";
    EXPECT_EQ(missed.error().code, Code::unavailable) << missed.error().message;

    Artifact artifact;
    artifact.sections.push_back({"cubin", Bytes::copy_of("made elsewhere")});
    artifact.sections.push_back({"hearth.conditions", watch::encode_conditions({})});
    ASSERT_TRUE(m_cache.insert(key_of(program), artifact).ok());
    const Result<ptx::Compiled> hit = ptx::compile(m_cache, program);
    ASSERT_TRUE(hit.ok()) << hit.error().message;
    EXPECT_EQ(hit->outcome(), ptx::Outcome::hit);
    EXPECT_EQ(as_text(hit->cubin()), "made elsewhere");
}

TEST_F(PtxRequests, the_driver_refuses_what_only_nvjitlink_knows)
{
    if (const std::string why = why_not_there(ptx::Linker::driver); !why.empty()) {
        EXPECT_NE(why.find("no libcuda.so.1 (the driver) was found"), std::string::npos) << why;
        GTEST_SKIP() << "There is no CUDA driver here.";
    }
    ptx::Program program = program_of(ptx_text());
    program.options = {"-kernels-used=store"};
    const std::string refusal = refusal_of(program, {.linker = ptx::Linker::driver});
    EXPECT_NE(refusal.find("knows no option \"-kernels-used=store\""), std::string::npos) << refusal;
}

}  // namespace

}  // namespace hearth::test
