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
                                {"PYTHONDONTWRITEBYTECODE", "1"},
                                {"CUDA_CACHE_DISABLE", "1"}},
                .limit = std::chrono::seconds(300)};
    }

    static std::string file_of(const std::string& program)
    {
        return std::string(HEARTH_PROGRAMS) + "/" + program + ".py";
    }
};

// What a second run asks for: all that the first one did, or, where that was compiled in several layers, only the
// outermost of them.
enum class Asks : bool { for_all, for_the_outermost };

struct Served {
    const char* name;
    Asks asks = Asks::for_all;
};

void PrintTo(const Served& served, std::ostream* out)
{
    *out << served.name;
}

class ServedPrograms : public Programs, public testing::WithParamInterface<Served> {};
class ShippedPrograms : public Programs, public testing::WithParamInterface<const char*> {};

}  // namespace

TEST_P(ServedPrograms, compile_nothing_the_second_time_and_get_the_same)
{
    const std::string program = file_of(GetParam().name);
    const ProcessResult bare = run_process({"/usr/bin/env", python(), program}, fresh_caches());
    if (bare.exit_code == k_skipped)
        GTEST_SKIP() << bare.out;
    ASSERT_EQ(bare.exit_code, 0) << bare.err;
    const std::vector<std::string> words{HEARTH_COMMAND, "run", "--json", "--", python(), program};

    const ProcessResult cold = run_process(words, fresh_caches());
    const ProcessResult warm = run_process(words, fresh_caches());
    for (const ProcessResult* served : {&cold, &warm}) {
        EXPECT_EQ(served->exit_code, 0) << served->err;
        EXPECT_EQ(served->out, bare.out);
    }
    const nlohmann::json first = summary_of(cold);
    const nlohmann::json second = summary_of(warm);
    EXPECT_GT(first.value("compiled", 0), 0) << first;
    EXPECT_TRUE(holds(second, {{"compiled", 0}, {"past_the_cache", 0}}));
    EXPECT_GT(second.value("hits", 0), 0) << second;
    if (GetParam().asks == Asks::for_all) {
        EXPECT_EQ(second.value("hits", 0), first.value("compiled", 0) + first.value("hits", 0)) << second;
    }
    std::cout << GetParam().name << ": " << second << std::endl;  // at once: who watches sees how far it has come
}
INSTANTIATE_TEST_SUITE_P(of, ServedPrograms,
                         testing::Values(Served{"cuda_bindings_program"}, Served{"numba_program"},
                                         Served{"cuda_core_program"}, Served{"cupy_compile"}, Served{"cupy_program"},
                                         Served{"torch_program"}, Served{"torch_inline_program"},
                                         Served{"triton_program", Asks::for_the_outermost},
                                         Served{"torch_compile_program", Asks::for_the_outermost},
                                         Served{"jax_program", Asks::for_the_outermost}),
                         [](const auto& served) { return std::string(served.param.name); });

TEST_P(ShippedPrograms, need_nothing_but_what_was_recorded_where_compiling_is_forbidden)
{
    const std::string program = file_of(GetParam());
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
    EXPECT_TRUE(holds(summary_of(served), {{"forbidden", 0}}));
}
INSTANTIATE_TEST_SUITE_P(of, ShippedPrograms, testing::Values("triton_program", "torch_compile_program", "jax_program"),
                         [](const auto& program) { return std::string(program.param); });

}  // namespace hearth::test
