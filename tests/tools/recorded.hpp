#pragma once

#include "command.hpp"

namespace hearth::test {

using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::optional<std::string>>;

// Kernels that were recorded, with a compiler of our own, which is always there.
class Recorded : public Command {
protected:
    void SetUp() override
    {
        m_recipes = (scratch / "r.recipes").string();
        std::filesystem::create_directory(scratch / "tmp");
    }

    virtual ProcessOptions with(Environment environment = {}) const
    {
        ProcessOptions options{.environment = std::move(environment)};
        options.environment.try_emplace("HEARTH_NVRTC", HEARTH_FAKE_NVRTC);
        options.environment.try_emplace("TMPDIR", (scratch / "tmp").string());
        return options;
    }

    // Compiles a source through a cache of its own, and records that.
    void record(const std::string& name, const std::string& source, const Words& more = {"--arch", "sm_90"})
    {
        Words words{"--dir", (scratch / "recording").string(), "compile", write(name, source).string()};
        words.insert(words.end(), more.begin(), more.end());
        const ProcessResult result = hearth(words, with({{"HEARTH_RECORD", m_recipes}}));
        EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 4) << result.err;
    }

    // A command that leaves nothing behind.
    ProcessResult run_clean(const Words& words, Environment environment)
    {
        ProcessResult result = hearth(words, with(std::move(environment)));
        EXPECT_TRUE(std::filesystem::is_empty(scratch / "tmp")) << "scratch files are left";
        return result;
    }
    // The same with --json: what it printed, and how it ended as "exit".
    nlohmann::json json_of_clean(Words words, Environment environment)
    {
        words.emplace_back("--json");
        const ProcessResult result = run_clean(words, std::move(environment));
        auto json = nlohmann::json::parse(result.out, nullptr, false);
        EXPECT_TRUE(json.is_object()) << result.out << result.err;
        if (json.is_object())
            json["exit"] = result.exit_code;
        return json;
    }

    // The compiler that is always there writes its priorities into what it makes.
    void expect_compiled_nicely(const std::string& label)
    {
        const ProcessResult ptx = hearth({"get", label, "--section", "ptx"});
        EXPECT_EQ(ptx.out.find("// priority 19 io 3 "), 0U) << ptx.out << ptx.err;
    }

    // Skips the case where there is none.
    void need_real_compiler()
    {
        const ProcessResult tried = hearth({"--dir", (scratch / "try").string(), "compile",
                                            write("try.cu", "__global__ void k() {}").string(), "--arch", "sm_90"});
        if (tried.exit_code == 3)
            GTEST_SKIP() << tried.err;
    }

    std::string m_recipes;
};

}  // namespace hearth::test
