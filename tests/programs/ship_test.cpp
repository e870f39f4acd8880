// Recorded where it runs, built elsewhere for several targets, shipped: nothing is compiled any more.
#include "tools/command.hpp"

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class Shipped : public Command {
protected:
    void SetUp() override
    {
        if (std::string(HEARTH_DROPINS).empty())
            GTEST_SKIP() << "The drop-in libraries are not built here.";
        fs::create_directories(scratch / "include");
        write("include/scale.h", "template <class T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }\n");
        if (const int code = service("sm_80").exit_code; code == 77 || code == 127)
            GTEST_SKIP() << "There is no NVRTC here, or no Python.";
    }

    Words service_of(const std::string& target, const std::string& include) const
    {
        return {"/usr/bin/python3", HEARTH_SERVICE, target, (scratch / include).string()};
    }
    // The program itself, or `hearth run OPTIONS --` before it.
    ProcessResult service(const std::string& target, const std::string& include = "include")
    {
        return run_process(service_of(target, include));
    }
    ProcessResult served(const std::vector<std::string>& options, const std::string& directory,
                         const std::string& target, const std::string& include = "include",
                         const std::string& bundle = {})
    {
        std::vector<std::string> words{HEARTH_COMMAND, "run", "--json"};
        words.insert(words.end(), options.begin(), options.end());
        words.emplace_back("--");
        const Words service = service_of(target, include);
        words.insert(words.end(), service.begin(), service.end());
        ProcessOptions how{.environment = {{"HEARTH_DIR", (scratch / directory).string()}}};
        if (!bundle.empty())
            how.environment["HEARTH_BUNDLES"] = (scratch / bundle).string();
        return run_process(words, how);
    }
};

}  // namespace

TEST_F(Shipped, kernels_are_never_compiled_where_the_program_runs)
{
    const std::string recipes = (scratch / "service.recipes").string();
    const std::string bundle = (scratch / "service.bundle").string();
    ASSERT_EQ(served({"--record", recipes}, "recording", "sm_90").exit_code, 0);
    const ProcessResult built = hearth({"--dir", (scratch / "building").string(), "build", recipes, "--arch",
                                        "sm_80,sm_90", "-o", bundle, "--jobs", "2"});
    ASSERT_EQ(built.exit_code, 0) << built.err;

    // On another machine the headers lie elsewhere.
    fs::rename(scratch / "include", scratch / "moved");
    for (const char* target : {"sm_80", "sm_90"}) {
        const ProcessResult shipped =
            served({"--forbid-compile"}, std::string("fresh-") + target, target, "moved", "service.bundle");
        EXPECT_EQ(shipped.exit_code, 0) << shipped.err;
        EXPECT_EQ(shipped.out, service(target, "moved").out);
        EXPECT_TRUE(holds(summary_of(shipped), {{"by_tier", {{"bundle", 2}}}, {"compiled", 0}, {"forbidden", 0}}));
    }
}

TEST_F(Shipped, what_the_bundle_lacks_is_an_error_and_recorded)
{
    const std::string recipes = (scratch / "all.recipes").string();
    const std::string missing = (scratch / "missing.recipes").string();
    ASSERT_EQ(served({"--record", recipes}, "recording", "sm_90").exit_code, 0);
    ASSERT_EQ(hearth({"build", recipes, "--arch", "sm_80", "-o", (scratch / "some.bundle").string()}).exit_code, 0);
    const ProcessResult refused =
        served({"--forbid-compile", "--record", missing}, "fresh", "sm_90", "include", "some.bundle");
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_EQ(summary_of(refused)["forbidden"], 2) << refused.err;
    EXPECT_NE(refused.out.find("saxpy.cu: 6"), std::string::npos) << refused.out;

    ASSERT_EQ(hearth({"build", missing, "-o", (scratch / "some.bundle").string()}).exit_code, 0);
    const ProcessResult whole = served({"--forbid-compile"}, "fresh2", "sm_90", "include", "some.bundle");
    EXPECT_EQ(whole.exit_code, 0) << whole.err;
    EXPECT_EQ(whole.out, service("sm_90").out);
}

TEST_F(Shipped, what_is_wrong_with_the_cache_is_in_the_summary)
{
    write("file", "in the way\n");
    const ProcessResult result = served({}, "file", "sm_90", "include", "missing.bundle");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, service("sm_90").out);
    const std::string warnings = summary_of(result)["warnings"].dump();
    EXPECT_NE(warnings.find("missing.bundle"), std::string::npos) << warnings;
    EXPECT_NE(warnings.find((scratch / "file").string()), std::string::npos) << warnings;
}

}  // namespace hearth::test
