// Programs that nobody here wrote, with Hearth and without: same results, and no compile the second time.
#include "tools/command.hpp"

#include <cstdlib>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

constexpr int k_skipped = 77;

// HEARTH_TEST_PYTHON, the environment that scripts/install-deps makes, or the machine's own.
std::string python()
{
    if (const char* named = std::getenv("HEARTH_TEST_PYTHON"); named != nullptr && *named != '\0')
        return named;
    if (const char* home = std::getenv("HOME"); home != nullptr)
        if (const std::string own = std::string(home) + "/.cache/hearth-tests/python/bin/python3"; fs::exists(own))
            return own;
    return "python3";
}

std::vector<std::string> in_python(std::vector<std::string> words)
{
    words.insert(words.begin(), {"/usr/bin/env", python()});
    return words;
}

class Programs : public Command {
protected:
    void SetUp() override
    {
        if (std::string(HEARTH_DROPINS).empty())
            GTEST_SKIP() << "The drop-in libraries are not built here.";
    }

    // The program's own caches are new each time: what a second run has, it has from Hearth.
    ProcessOptions fresh_caches()
    {
        // At the same place: where a compiler is a script, any variable may count.
        const fs::path own = scratch / "own-caches";
        fs::remove_all(own);
        fs::create_directories(own);
        return {.environment = {{"HEARTH_DIR", cache.string()},
                                {"CUPY_CACHE_DIR", (own / "cupy").string()},
                                {"TRITON_CACHE_DIR", (own / "triton").string()},
                                // Its sources lie here, and what they hold of it is in the result.
                                {"TORCH_EXTENSIONS_DIR", (own / "torch").string()},
                                {"TORCHINDUCTOR_CACHE_DIR", (own / "inductor").string()},
                                {"NUMBA_CACHE_DIR", (own / "numba").string()},
                                {"XLA_PYTHON_CLIENT_PREALLOCATE", "false"},
                                {"USE_PYTORCH_KERNEL_CACHE", "0"},
                                {"CUDA_CACHE_DISABLE", "1"}},
                .limit = std::chrono::seconds(300)};
    }

    // What a second run asks for: all that the first one did, or, where that was compiled in several layers, only the
    // outermost of them.
    enum class Asks : bool { for_all, for_the_outermost };

    // Each program says what it got.
    void expect_served(const std::string& name, Asks asks = Asks::for_all)
    {
        const std::string program = std::string(HEARTH_PROGRAMS) + "/" + name;
        const ProcessResult bare = run_process(in_python({program}), fresh_caches());
        if (bare.exit_code == k_skipped)
            GTEST_SKIP() << bare.out;
        ASSERT_EQ(bare.exit_code, 0) << bare.err;
        const std::vector<std::string> words{HEARTH_COMMAND, "run", "--json", "--", python(), program};

        const ProcessResult cold = run_process(words, fresh_caches());
        EXPECT_EQ(cold.exit_code, 0) << cold.err;
        EXPECT_EQ(cold.out, bare.out);
        const ProcessResult warm = run_process(words, fresh_caches());
        EXPECT_EQ(warm.exit_code, 0) << warm.err;
        EXPECT_EQ(warm.out, bare.out);

        const nlohmann::json first = summary_of(cold);
        const nlohmann::json second = summary_of(warm);
        EXPECT_GT(first.value("compiled", 0), 0) << first;
        EXPECT_EQ(second.value("compiled", -1), 0) << second;
        EXPECT_EQ(second.value("past_the_cache", -1), 0) << second;
        EXPECT_GT(second.value("hits", 0), 0) << second;
        if (asks == Asks::for_all) {
            EXPECT_EQ(second.value("hits", 0), first.value("compiled", 0) + first.value("hits", 0)) << second;
        }
        std::cout << name << ": " << second << std::endl;  // at once: who watches sees how far it has come
    }

    // What was recorded of a program is enough for a machine that has nothing else, and may not compile.
    void expect_shipped(const std::string& name)
    {
        const std::string program = std::string(HEARTH_PROGRAMS) + "/" + name;
        const std::string recipes = (scratch / "program.recipes").string();
        const std::string bundle = (scratch / "program.bundle").string();
        const ProcessResult recorded =
            run_process({HEARTH_COMMAND, "run", "--record", recipes, "--", python(), program}, fresh_caches());
        if (recorded.exit_code == k_skipped)
            GTEST_SKIP() << recorded.out;
        ASSERT_EQ(recorded.exit_code, 0) << recorded.err;
        const ProcessResult built = run_process({HEARTH_COMMAND, "build", recipes, "-o", bundle}, fresh_caches());
        EXPECT_EQ(built.exit_code, 0) << built.out << built.err;

        ProcessOptions elsewhere = fresh_caches();
        elsewhere.environment["HEARTH_BUNDLES"] = bundle;
        elsewhere.environment["HEARTH_DIR"] = (scratch / "empty").string();
        const ProcessResult served =
            run_process({HEARTH_COMMAND, "run", "--forbid-compile", "--json", "--", python(), program}, elsewhere);
        EXPECT_EQ(served.exit_code, 0) << served.err;
        EXPECT_EQ(served.out, recorded.out);
        EXPECT_EQ(summary_of(served).value("forbidden", -1), 0) << served.err;
    }
};

}  // namespace

TEST_F(Programs, of_nvidias_bindings_are_served)
{
    expect_served("cuda_bindings_program.py");
}

TEST_F(Programs, of_numba_are_served)
{
    expect_served("numba_program.py");
}

TEST_F(Programs, of_nvvm_ir_are_served)
{
    expect_served("cuda_core_program.py");
}

TEST_F(Programs, that_compile_as_cupy_does_are_served)
{
    expect_served("cupy_compile.py");
}

TEST_F(Programs, of_cupy_are_served)
{
    expect_served("cupy_program.py");
}

TEST_F(Programs, of_pytorch_are_served)
{
    expect_served("torch_program.py");
}

TEST_F(Programs, of_pytorch_that_build_an_extension_are_served)
{
    expect_served("torch_inline_program.py");
}

TEST_F(Programs, of_triton_are_served)
{
    expect_served("triton_program.py", Asks::for_the_outermost);
}

TEST_F(Programs, of_torch_compile_are_served)
{
    expect_served("torch_compile_program.py", Asks::for_the_outermost);
}

TEST_F(Programs, of_jax_are_served)
{
    expect_served("jax_program.py", Asks::for_the_outermost);
}

TEST_F(Programs, of_triton_are_shipped)
{
    expect_shipped("triton_program.py");
}

TEST_F(Programs, of_torch_compile_are_shipped)
{
    expect_shipped("torch_compile_program.py");
}

TEST_F(Programs, of_jax_are_shipped)
{
    expect_shipped("jax_program.py");
}

}  // namespace hearth::test
