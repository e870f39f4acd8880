#include "nvrtc_fixture.hpp"
#include "support/in_threads.hpp"

#include <array>
#include <unistd.h>

namespace hearth::test {

namespace {

using nvrtc::Outcome;
using nvrtc::Program;

class NvrtcCompiles : public NvrtcTest {};

const char* const k_saxpy = "extern \"C\" __global__ void saxpy(int n, float a, const float* x, float* y)\n"
                            "{\n    int unused;\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                            "    if (i < n)\n        y[i] += a * x[i];\n}\n";

TEST_F(NvrtcCompiles, the_first_is_a_miss_and_the_second_a_hit_with_every_byte_of_it)
{
    const Program program{.source = k_saxpy, .name = "saxpy.cu", .target = "sm_90"};
    const nvrtc::Compiled cold = compile(program);
    EXPECT_EQ(cold.outcome(), Outcome::compiled);
    EXPECT_EQ(cold.reason(), "absent");
    EXPECT_FALSE(cold.cubin().empty());
    EXPECT_NE(cold.log().find("saxpy.cu(3): warning"), std::string::npos);
    expect_as_bare(cold, program);

    m_cache.emplace(open());
    const nvrtc::Compiled warm = compile(program);
    EXPECT_EQ(warm.outcome(), Outcome::hit);
    EXPECT_EQ(warm.tier(), "disk");
    EXPECT_EQ(warm.request().key(), cold.request().key());
    EXPECT_EQ(warm.artifact().sections, cold.artifact().sections);
    expect_as_bare(warm, program);
    EXPECT_EQ(m_cache->stats().compiles, 0U);
}

TEST_F(NvrtcCompiles, exactly_one_lookup_is_counted_for_a_compile)
{
    const std::string header = write("inc/one.h", "#define ONE 1\n");
    const Program program{.source = "#include <one.h>\n__global__ void k(int* x) { *x = ONE; }",
                          .options = {"-I" + (m_scratch / "inc")}};
    compile(program);
    compile(program);
    const Stats stats = m_cache->stats();
    EXPECT_EQ(stats.lookups(), 2U);
    EXPECT_EQ(stats.hits, 1U);
    EXPECT_EQ(stats.stores, 1U);
    EXPECT_EQ(stats.compiles, 1U);
}

TEST_F(NvrtcCompiles, every_part_of_the_program_has_its_own_entry)
{
    const Program base{.source = k_saxpy, .name = "saxpy.cu", .target = "sm_90"};
    std::vector<Program> others(9, base);
    others[0].source += " ";
    others[1].name = "other.cu";
    others[2].target = "sm_90a";
    others[3].target = "sm_80";
    others[4].options = {"-DA=1"};
    others[5].options = {"-DA", "-DB"};
    others[6].options = {"-DB", "-DA"};
    others[7].headers = {{"unused.h", "1"}};
    others[8].headers = {{"unused.h", "2"}};
    compile(base);
    for (const Program& other : others) {
        const nvrtc::Compiled compiled = compile(other);
        EXPECT_EQ(compiled.outcome(), Outcome::compiled);
        expect_as_bare(compiled, other);
    }
    EXPECT_EQ(m_cache->stats().compiles, 10U);
}

TEST_F(NvrtcCompiles, the_directory_of_the_program_does_not_matter_where_the_output_cannot_hold_it)
{
    Program program{.source = k_saxpy, .name = "/one/place/saxpy.cu", .target = "sm_90"};
    compile(program);
    program.name = "/another/saxpy.cu";
    const nvrtc::Compiled moved = compile(program);
    EXPECT_EQ(moved.outcome(), Outcome::hit);
    EXPECT_NE(moved.log().find("/another/saxpy.cu(3)"), std::string::npos) << moved.log();
    expect_as_bare(moved, program);
}

TEST_F(NvrtcCompiles, the_directory_of_the_program_matters_where_the_output_holds_it)
{
    const std::vector<std::pair<const char*, std::vector<std::string>>> cases{
        {"__device__ const char* f = __FILE__; __global__ void k() { printf(\"%s\", f); }", {}},
        {"__global__ void k(int* x) { assert(*x); }", {}},
        {k_saxpy, {"-lineinfo"}},
        {k_saxpy, {"-G"}},
    };
    for (const auto& [source, options] : cases) {
        for (const char* name : {"/one/p.cu", "/two/p.cu"}) {
            const Program program{.source = source, .name = name, .options = options, .target = "sm_90"};
            const nvrtc::Compiled compiled = compile(program);
            EXPECT_EQ(compiled.outcome(), Outcome::compiled) << source << name;
            expect_as_bare(compiled, program);
            EXPECT_EQ(compile(program).outcome(), Outcome::hit) << source << name;
        }
    }
}

TEST_F(NvrtcCompiles, template_instances_have_their_lowered_names_on_a_hit_too)
{
    const Program program{.source = "template <class T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }",
                          .name_expressions = {"scale<float>", "scale<double>"},
                          .target = "sm_90"};
    const std::optional<std::string> cold = compile(program).lowered_name("scale<float>");
    ASSERT_TRUE(cold);
    m_cache.emplace(open());
    const nvrtc::Compiled warm = compile(program);
    EXPECT_EQ(warm.outcome(), Outcome::hit);
    EXPECT_EQ(warm.lowered_name("scale<float>"), cold);
    EXPECT_NE(warm.lowered_name("scale<double>"), cold);
    EXPECT_EQ(warm.lowered_name("scale<int>"), std::nullopt);
}

TEST_F(NvrtcCompiles, all_outputs_are_kept)
{
    EXPECT_FALSE(compile({.source = k_saxpy, .options = {"-dlto"}, .target = "sm_90"}).lto_ir().empty());
    const nvrtc::Compiled virtual_only = compile({.source = k_saxpy, .target = "compute_90"});
    EXPECT_TRUE(virtual_only.cubin().empty());
    EXPECT_FALSE(virtual_only.ptx().empty());
}

TEST_F(NvrtcCompiles, lto_ir_is_of_the_place_it_was_compiled_in)
{
    Program program{.source = k_saxpy, .name = "/a/saxpy.cu", .options = {"-dlto"}, .target = "sm_90"};
    const nvrtc::Compiled here = compile(program);
    EXPECT_EQ(compile(program).outcome(), Outcome::hit);
    program.name = "/b/saxpy.cu";
    const nvrtc::Compiled there = compile(program);
    EXPECT_EQ(there.outcome(), Outcome::compiled);
    EXPECT_NE(as_text(here.lto_ir()), as_text(there.lto_ir())) << "else the path need not be in the key";
}

TEST_F(NvrtcCompiles, a_compile_error_comes_with_its_log_and_is_remembered)
{
    const Program program{.source = "__global__ void k() { undeclared = 1; }", .name = "/a/bad.cu"};
    const nvrtc::Compiled failed = compile(program);
    EXPECT_TRUE(failed.failed());
    EXPECT_NE(failed.log().find("undeclared"), std::string::npos);
    expect_as_bare(failed, program);
    const nvrtc::Compiled again = compile(program);
    expect_as_bare(again, program);
    EXPECT_EQ(m_cache->stats().compiles, 1U);
    EXPECT_EQ(m_cache->stats().failures_replayed, 1U);
    const nvrtc::Compiled wrong_option = compile({.source = k_saxpy, .options = {"--no-such-option"}});
    EXPECT_TRUE(wrong_option.failed());
    EXPECT_NE(wrong_option.log().find("no-such-option"), std::string::npos);
}

TEST_F(NvrtcCompiles, options_with_side_effects_bypass_and_are_counted_as_such)
{
    const std::string times = m_scratch / "times.csv";
    for (int i = 0; i < 2; ++i) {
        const nvrtc::Compiled compiled =
            compile({.source = k_saxpy, .options = {"--time=" + times}, .target = "sm_90"});
        EXPECT_EQ(compiled.outcome(), Outcome::past_the_cache);
        EXPECT_FALSE(compiled.cubin().empty());
        EXPECT_TRUE(std::filesystem::remove(times)) << "the option had no effect";
    }
    EXPECT_EQ(m_cache->stats().misses[static_cast<std::size_t>(Miss::past_the_cache)], 2U);
    EXPECT_EQ(m_cache->stats().stores, 0U);
}

TEST_F(NvrtcCompiles, the_time_of_the_compile_bypasses)
{
    const nvrtc::Compiled compiled =
        compile({.source = "__device__ const char* t = __TIME__; __global__ void k() { printf(\"%s\", t); }"});
    EXPECT_EQ(compiled.outcome(), Outcome::past_the_cache);
    EXPECT_NE(compiled.reason().find("time"), std::string::npos);
}

TEST_F(NvrtcCompiles, flags_in_the_environment_are_part_of_the_request)
{
    const Program program{.source = k_saxpy, .target = "sm_90"};
    compile(program);
    ::setenv("NVRTC_APPEND_FLAGS", "-DFROM_ENVIRONMENT", 1);
    const nvrtc::Compiled with = compile(program);
    EXPECT_EQ(with.outcome(), Outcome::compiled);
    expect_as_bare(with, program);
    for (const char* reads : {"--ptxas-options=--options-file=", "-Xptxas=-optf="}) {
        ::setenv("NVRTC_APPEND_FLAGS", (reads + (m_scratch / "options")).c_str(), 1);
        for (const char* options : {"-O1", "-O3"}) {
            write("options", options);
            expect_as_bare(compile(program), program);
            EXPECT_EQ(compile(program).outcome(), Outcome::hit) << reads;
        }
    }
    ::unsetenv("NVRTC_APPEND_FLAGS");
    EXPECT_EQ(compile(program).outcome(), Outcome::hit);
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
    if (::access("/dev/nvidia0", F_OK) != 0) {
        EXPECT_NE(message({.source = k_saxpy, .target = "device"}).find("no CUDA device"), std::string::npos);
    }
}

TEST_F(NvrtcCompiles, a_library_for_another_processor_is_passed_over_and_said)
{
    std::string elf = read_file("/proc/self/exe").substr(0, 4096);
    elf[18] = elf[18] == '\x3e' ? '\xb7' : '\x3e';  // e_machine: x86-64 for aarch64 and the other way round
    const Result<nvrtc::Compiled> compiled =
        nvrtc::compile(*m_cache, {.source = k_saxpy}, {.library = write("other.so", elf)});
    ASSERT_FALSE(compiled.ok());
    EXPECT_NE(compiled.error().message.find("another kind of processor"), std::string::npos)
        << compiled.error().message;
}

TEST_F(NvrtcCompiles, sources_that_are_no_utf8_compile_as_nvrtc_compiles_them)
{
    const Program program{.source = "// caf\xe9\n__global__ void k(int* x) { *x = 1; }", .target = "sm_90"};
    expect_as_bare(compile(program), program);
}

TEST_F(NvrtcCompiles, threads_that_want_the_same_compile_it_once)
{
    const Program program{.source = std::string(k_saxpy) + "// threads", .target = "sm_90"};
    std::atomic<int> right{0};
    in_threads(16, [&](std::uint64_t) {
        const Result<nvrtc::Compiled> compiled = nvrtc::compile(*m_cache, program);
        right += compiled.ok() && !compiled->cubin().empty() ? 1 : 0;
    });
    EXPECT_EQ(right, 16);
    EXPECT_EQ(m_cache->stats().compiles, 1U);
}

TEST_F(NvrtcCompiles, asynchronously_several_at_once_and_each_gets_its_own)
{
    std::vector<Program> programs;
    for (int i = 0; i < 4; ++i)
        programs.push_back(
            {.source = std::string(k_saxpy) + "__device__ int which = " + std::to_string(i) + ";", .target = "sm_90"});
    std::vector<std::future<Result<nvrtc::Compiled>>> futures;
    for (const Program& program : programs)
        futures.push_back(nvrtc::compile_async(*m_cache, program));
    for (std::size_t i = 0; i < programs.size(); ++i) {
        const Result<nvrtc::Compiled> compiled = futures[i].get();
        ASSERT_TRUE(compiled.ok()) << compiled.error().message;
        EXPECT_EQ(compiled->outcome(), Outcome::compiled);
        expect_as_bare(*compiled, programs[i]);
    }
    EXPECT_EQ(nvrtc::compile_async(*m_cache, programs[0]).get()->outcome(), Outcome::hit);
    EXPECT_EQ(m_cache->stats().compiles, 4U);
}

TEST_F(NvrtcCompiles, a_cache_may_be_moved_while_a_compile_waits_for_its_turn)
{
    CacheOptions one_at_a_time;
    one_at_a_time.directory = m_scratch / "moved";
    one_at_a_time.max_parallel_compiles = 1;
    auto first = std::make_unique<Cache>(Cache::open(one_at_a_time).value());
    std::promise<void> go_on;
    first->run_later([waits = go_on.get_future().share()](const Status&) { waits.wait(); });
    const Program program{.source = std::string(k_saxpy) + "// moved", .target = "sm_90"};
    std::future<Result<nvrtc::Compiled>> future = nvrtc::compile_async(*first, program);
    Cache second = std::move(*first);
    first.reset();
    go_on.set_value();
    const Result<nvrtc::Compiled> compiled = future.get();
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    EXPECT_EQ(second.stats().compiles, 1U);
}

TEST_F(NvrtcCompiles, what_is_wrong_comes_back_through_the_future)
{
    const Result<nvrtc::Compiled> wrong =
        nvrtc::compile_async(*m_cache, {.source = "this is no C++", .target = "sm_90"}).get();
    ASSERT_TRUE(wrong.ok()) << wrong.error().message;
    EXPECT_TRUE(wrong->failed());
    EXPECT_NE(wrong->log().find("error"), std::string::npos);
    const Result<nvrtc::Compiled> refused =
        nvrtc::compile_async(*m_cache, {.source = std::string("a\0b", 3), .target = "sm_90"}).get();
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("zero byte"), std::string::npos);
}

TEST_F(NvrtcCompiles, a_deadline_is_a_timeout_and_the_compile_finishes_for_a_later_call)
{
    const Program program{.source = std::string(k_saxpy) + "// deadline", .target = "sm_90"};
    const Result<nvrtc::Compiled> late = nvrtc::compile(*m_cache, program, {.deadline = std::chrono::milliseconds(1)});
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, Code::timeout);
    const nvrtc::Compiled later = compile(program);
    expect_as_bare(later, program);
    m_cache.emplace(open());  // closing waits for what is still compiled
    EXPECT_EQ(compile(program).outcome(), Outcome::hit);
}

TEST_F(NvrtcCompiles, the_time_limit_of_the_settings_is_a_deadline_for_all)
{
    const Program program{.source = std::string(k_saxpy) + "// time limit", .target = "sm_90"};
    CacheOptions options;
    options.directory = m_scratch / "cache";
    options.compile_time_limit = std::chrono::milliseconds(1);
    Cache hasty = Cache::open(options).value();
    const Result<nvrtc::Compiled> late = nvrtc::compile(hasty, program);
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, Code::timeout);
    EXPECT_TRUE(nvrtc::compile(hasty, program, {.deadline = std::chrono::hours(1)}).ok()) << "its own deadline counts";
    EXPECT_EQ(nvrtc::compile(hasty, program)->outcome(), Outcome::hit);
}

TEST_F(NvrtcCompiles, where_making_is_forbidden_a_miss_is_an_error_and_a_hit_a_hit)
{
    const Program program{.source = k_saxpy, .target = "sm_90"};
    compile(program);
    CacheOptions options;
    options.directory = m_scratch / "cache";
    options.compiling = Compiling::forbidden;
    Cache strict = Cache::open(options).value();
    EXPECT_TRUE(nvrtc::compile(strict, program).ok());
    const Result<nvrtc::Compiled> missing =
        nvrtc::compile(strict, {.source = "__global__ void other() {}", .name = "src/other.cu"});
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().code, Code::compile_forbidden);
    EXPECT_EQ(missing.error().message.find("other.cu (entry "), 0U) << missing.error().message;
}

TEST_F(NvrtcCompiles, a_disabled_cache_still_compiles)
{
    CacheOptions options;
    options.caching = Switch::off;
    Cache off = Cache::open(options).value();
    const Program program{.source = k_saxpy, .target = "sm_90"};
    const Result<nvrtc::Compiled> compiled = nvrtc::compile(off, program);
    ASSERT_TRUE(compiled.ok());
    expect_as_bare(*compiled, program);
}

// Nothing is watched then, so nobody can tell whether what another thread compiles is the answer here.
TEST_F(NvrtcCompiles, a_disabled_cache_gives_each_thread_what_its_own_headers_say)
{
    CacheOptions options;
    options.caching = Switch::off;
    Cache off = Cache::open(options).value();
    std::array<std::string, 2> ptx;
    in_threads(ptx.size(), [&](std::uint64_t i) {
        const std::string header = write(std::to_string(i) + "/value.h", "#define VALUE " + std::to_string(4000 + i));
        const Program program{.source = "#include \"value.h\"\n__global__ void k(int* x) { *x = VALUE; }",
                              .options = {"-I" + header.substr(0, header.rfind('/'))},
                              .target = "sm_90"};
        if (const Result<nvrtc::Compiled> compiled = nvrtc::compile(off, program))
            ptx[i] = compiled->ptx();
    });
    EXPECT_NE(ptx[0].find("4000"), std::string::npos) << ptx[0];
    EXPECT_NE(ptx[1].find("4001"), std::string::npos) << ptx[1];
}

TEST_F(NvrtcCompiles, a_damaged_entry_is_compiled_again_once)
{
    const Program program{.source = k_saxpy, .target = "sm_90"};
    const Key key = compile(program).request().key();
    m_cache.reset();
    for (const auto& file : std::filesystem::recursive_directory_iterator(m_scratch / "cache"))
        if (file.is_regular_file() && file.path().filename().string().find(key.hex().substr(8)) != std::string::npos) {
            std::string bytes = read_file(file.path());
            bytes[bytes.size() / 2] ^= 1;
            write_file(file.path(), bytes);
        }
    m_cache.emplace(open());
    const nvrtc::Compiled compiled = compile(program);
    EXPECT_EQ(compiled.outcome(), Outcome::compiled);
    EXPECT_EQ(compiled.reason(), "corrupt");
    expect_as_bare(compiled, program);
    EXPECT_EQ(compile(program).outcome(), Outcome::hit);
}

}  // namespace

}  // namespace hearth::test
