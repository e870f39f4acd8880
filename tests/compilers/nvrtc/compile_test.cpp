#include "nvrtc_fixture.hpp"
#include "support/in_threads.hpp"

#include <set>
#include <unistd.h>

namespace hearth::test {

namespace {

using nvrtc::Outcome;
using nvrtc::Program;

// In which worlds it is a hit is in exactness_test.cpp.
class NvrtcCompiles : public NvrtcTest {};

const char* const k_saxpy = "extern \"C\" __global__ void saxpy(int n, float a, const float* x, float* y)\n"
                            "{\n    int unused;\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                            "    if (i < n)\n        y[i] += a * x[i];\n}\n";

TEST_F(NvrtcCompiles, every_part_of_the_program_has_its_own_entry)
{
    const std::string given = "#if __has_include(\"given.h\")\n#include \"given.h\"\n#endif\n";
    const Program base{.source = given + k_saxpy, .name = "saxpy.cu", .target = "sm_90"};
    std::vector<Program> programs(10, base);
    programs[1].source += "// caf\xe9, which is no UTF-8";
    programs[2].name = "other.cu";
    programs[3].target = "sm_90a";
    programs[4].target = "sm_80";
    programs[5].options = {"-DA=1"};
    programs[6].options = {"-DA", "-DB"};
    programs[7].options = {"-DB", "-DA"};
    programs[8].headers = {{"given.h", "__device__ int given = 1;"}};
    programs[9].headers = {{"given.h", "__device__ int given = 2;"}};
    for (const Outcome outcome : {Outcome::compiled, Outcome::hit})
        for (std::size_t i = 0; i < programs.size(); ++i) {
            SCOPED_TRACE(i);
            expect(outcome, programs[i]);
        }
}

TEST_F(NvrtcCompiles, all_outputs_are_kept)
{
    EXPECT_FALSE(compile({.source = k_saxpy, .options = {"-dlto"}, .target = "sm_90"}).lto_ir().empty());
    const nvrtc::Compiled virtual_only = compile({.source = k_saxpy, .target = "compute_90"});
    EXPECT_TRUE(virtual_only.cubin().empty());
    EXPECT_FALSE(virtual_only.ptx().empty());
}

TEST_F(NvrtcCompiles, what_nvrtc_cannot_be_given_is_refused_with_a_sentence)
{
    const auto message = [&](const Program& program, const nvrtc::CompileOptions& options = {}) {
        const Result<nvrtc::Compiled> compiled = nvrtc::compile(*m_cache, program, options);
        return compiled.ok() ? std::string{} : compiled.error().message;
    };
    EXPECT_NE(message({.source = std::string("int a;\0int b;", 13)}).find("offset 6"), std::string::npos);
    EXPECT_NE(message({.source = k_saxpy, .options = {"-arch=sm_80"}, .target = "sm_90"}).find("twice"),
              std::string::npos);
    EXPECT_NE(message({.source = k_saxpy, .headers = {{"", "x"}}}).find("no name"), std::string::npos);
    const std::string missing = message({.source = k_saxpy}, {.library = "/no/such/libnvrtc.so"});
    EXPECT_NE(missing.find("/no/such/libnvrtc.so"), std::string::npos) << missing;
    const std::string text =
        write("text.so", "not a library at all, but long enough to look at: 0123456789012345678901");
    EXPECT_NE(message({.source = k_saxpy}, {.library = text}).find("not a shared library"), std::string::npos);
    std::string elf = read_file("/proc/self/exe").substr(0, 4096);
    elf[18] = elf[18] == '\x3e' ? '\xb7' : '\x3e';  // e_machine: x86-64 for aarch64 and the other way round
    const std::string other = message({.source = k_saxpy}, {.library = write("other.so", elf)});
    EXPECT_NE(other.find("another kind of processor"), std::string::npos) << other;
    if (::access("/dev/nvidia0", F_OK) != 0) {
        EXPECT_NE(message({.source = k_saxpy, .target = "device"}).find("no CUDA device"), std::string::npos);
    }
}

TEST_F(NvrtcCompiles, asynchronously_several_at_once_and_each_gets_its_own_also_what_is_wrong)
{
    std::vector<Program> programs{program("#define VALUE 1", {"--no-such-option"})};
    for (int i = 0; i < 4; ++i)
        programs.push_back(program("#define VALUE " + std::to_string(i)));
    std::vector<std::future<Result<nvrtc::Compiled>>> futures;
    for (const Program& program : programs)
        futures.push_back(nvrtc::compile_async(*m_cache, program));
    for (std::size_t i = 0; i < programs.size(); ++i) {
        const Result<nvrtc::Compiled> compiled = futures[i].get();
        ASSERT_TRUE(compiled.ok()) << compiled.error().message;
        EXPECT_EQ(compiled->outcome(), Outcome::compiled);
        EXPECT_EQ(compiled->failed(), i == 0) << compiled->log();
        expect_as_bare(*compiled, programs[i]);
    }
    EXPECT_EQ(nvrtc::compile_async(*m_cache, programs[1]).get()->outcome(), Outcome::hit);
    EXPECT_EQ(m_cache->stats().compiles, programs.size());
    const Result<nvrtc::Compiled> refused =
        nvrtc::compile_async(*m_cache, {.source = std::string("a\0b", 3), .target = "sm_90"}).get();
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("zero byte"), std::string::npos);
}

TEST_F(NvrtcCompiles, a_cache_may_be_moved_while_a_compile_waits_for_its_turn)
{
    auto first =
        std::make_unique<Cache>(Cache::open({.directory = m_scratch / "moved", .max_parallel_compiles = 1}).value());
    std::promise<void> go_on;
    first->run_later([waits = go_on.get_future().share()](const Status&) { waits.wait(); });
    std::future<Result<nvrtc::Compiled>> future = nvrtc::compile_async(*first, program("#define VALUE 1"));
    Cache second = std::move(*first);
    first.reset();
    go_on.set_value();
    const Result<nvrtc::Compiled> compiled = future.get();
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    EXPECT_EQ(second.stats().compiles, 1U);
}

TEST_F(NvrtcCompiles, a_deadline_is_a_timeout_and_the_compile_finishes_for_a_later_call)
{
    using namespace std::chrono_literals;
    const Program slow{.source = k_saxpy, .target = "sm_90"};
    const Result<nvrtc::Compiled> late = nvrtc::compile(*m_cache, slow, {.deadline = 1ms});
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, Code::timeout);
    expect_as_bare(compile(slow), slow);

    m_options.compile_time_limit = 1ms;
    m_cache.emplace(open());  // closing waits for what is still compiled
    EXPECT_EQ(compile(slow).outcome(), Outcome::hit);
    const Program other{.source = k_saxpy, .target = "sm_80"};
    const Result<nvrtc::Compiled> limited = nvrtc::compile(*m_cache, other);
    ASSERT_FALSE(limited.ok());
    EXPECT_EQ(limited.error().code, Code::timeout);
    EXPECT_TRUE(nvrtc::compile(*m_cache, other, {.deadline = 1h}).ok()) << "its own deadline counts";
}

// Nothing is watched then, so nobody can tell whether what another thread compiles is the answer here.
TEST_F(NvrtcCompiles, a_disabled_cache_gives_each_thread_what_its_own_headers_say)
{
    Cache off = Cache::open({.caching = Switch::off}).value();
    in_threads(2, [&](std::uint64_t i) {
        const std::string value = std::to_string(4000 + i);
        write(value + "/value.h", "#define VALUE " + value);
        const Program reads = program("#include \"value.h\"", {include(value)}, "sm_90");
        const Result<nvrtc::Compiled> compiled = nvrtc::compile(off, reads);
        ASSERT_TRUE(compiled.ok()) << compiled.error().message;
        EXPECT_NE(compiled->ptx().find(value), std::string::npos) << compiled->ptx();
        expect_as_bare(*compiled, reads);
    });
}

// What a hit gives is what NVRTC gives without Hearth, byte for byte, over the kernels of the demo.
class NvrtcDeterminism : public NvrtcTest,
                         public ::testing::WithParamInterface<std::tuple<std::string, std::vector<std::string>>> {};

TEST_P(NvrtcDeterminism, cold_and_warm_are_what_nvrtc_gives)
{
    const auto& [file, options] = GetParam();
    nvrtc::Program program;
    program.name = std::string(HEARTH_DEMO_KERNELS) + "/" + file;
    program.source = read_file(program.name);
    program.options = options;
    program.options.emplace_back("-std=c++17");
    program.target = "sm_90";
    if (file == "gemm.cu")
        program.name_expressions = {"gemm<4>", "gemm<8>", "gemm<16>", "gemm<32>"};
    const nvrtc::Compiled cold = compile(program);
    ASSERT_FALSE(cold.failed()) << cold.log();
    EXPECT_EQ(cold.outcome(), nvrtc::Outcome::compiled);
    EXPECT_EQ(cold.reason(), "absent");
    expect_as_bare(cold, program);
    m_cache.emplace(open());
    const nvrtc::Compiled warm = compile(program);
    EXPECT_EQ(warm.outcome(), nvrtc::Outcome::hit);
    EXPECT_EQ(warm.tier(), "disk");
    EXPECT_EQ(m_cache->stats().compiles, 0U);
    EXPECT_EQ(warm.request().key(), cold.request().key());
    EXPECT_EQ(warm.artifact().sections, cold.artifact().sections);
    EXPECT_EQ(warm.log(), cold.log());
    std::set<std::string> names;
    for (const std::string& expression : program.name_expressions)
        EXPECT_TRUE(names.insert(warm.lowered_name(expression).value()).second) << expression;
    EXPECT_EQ(warm.lowered_name("gemm<64>"), std::nullopt);
}

const std::vector<std::vector<std::string>> k_options{
    {}, {"-lineinfo"}, {"-G"}, {"--use_fast_math", "-maxrregcount=32"}, {"-dlto"}, {"-rdc=true"}};

INSTANTIATE_TEST_SUITE_P(demo_kernels, NvrtcDeterminism,
                         ::testing::Combine(::testing::Values("vector_add.cu", "gemm.cu", "reduce.cu", "softmax.cu",
                                                              "scan.cu"),
                                            ::testing::ValuesIn(k_options)));

}  // namespace

}  // namespace hearth::test
