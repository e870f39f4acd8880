#pragma once

#include "command.hpp"

#include <regex>

namespace hearth::test {

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
        const Words words{"--dir", "recording", "compile", write(name, source).string()};
        const ProcessResult result = hearth(joined(words, more), with({{"HEARTH_RECORD", m_recipes}}));
        EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 4) << result.err;
    }

    // a.cu, b.cu and c.cu.
    void record_some()
    {
        for (const char* name : {"a", "b", "c"})
            record(std::string(name) + ".cu", std::string("__global__ void ") + name + "() {}");
    }
    // Two recipes, of which the first is damaged, and something torn behind them.
    void record_damaged()
    {
        record("a.cu", "__global__ void a() {}");
        record("b.cu", "__global__ void b() {}");
        std::string bytes = read(m_recipes);
        bytes[bytes.find("void a()")] ^= 1;
        write("r.recipes", bytes + "torn");
    }

    // A command is sent the signal while a compile of it waits, or when `begun` says so. How it ends.
    std::optional<int> stopped_in_a_compile(const Words& words, int signal, std::function<bool()> begun = {})
    {
        const std::filesystem::path mark = scratch / "waiting";
        std::filesystem::remove(mark);
        if (!begun)
            begun = [&] { return std::filesystem::exists(mark); };
        return stopped(words, signal, begun,
                       {{"HEARTH_NVRTC", HEARTH_FAKE_NVRTC},
                        {"TMPDIR", (scratch / "tmp").string()},
                        {"FAKENVRTCWAITS", mark.string()}});
    }

    // A command that leaves nothing behind.
    ProcessResult run_clean(const Words& words, Environment environment)
    {
        ProcessResult result = hearth(words, with(std::move(environment)));
        EXPECT_TRUE(std::filesystem::is_empty(scratch / "tmp")) << "scratch files are left";
        return result;
    }

    // The helps of all commands and their parts, by their words: "bundle create".
    const std::map<std::string, std::string>& helps()
    {
        if (m_helps.empty())
            add_helps("");
        return m_helps;
    }
    // The lines of a help below "Options:" or "Commands:".
    static std::string section_of(const std::string& help, const std::string& title)
    {
        const std::size_t at = help.find("\n" + title + ":\n");
        return at == std::string::npos ? "" : help.substr(at, help.find("\n\n", at) - at) + "\n";
    }
    static bool has_parts(const std::string& help) { return !section_of(help, "Commands").empty(); }

    // The compiler that is always there writes its priorities into what it makes.
    void expect_compiled_nicely(const std::string& label)
    {
        EXPECT_TRUE(ends_printing(hearth({"get", label, "--section", "ptx"}), 0, "// priority 19 io 3 "));
    }

    std::string m_recipes;

private:
    void add_helps(const std::string& path)
    {
        const std::string help = m_helps[path] = hearth(joined(words_of(path), {"--help"})).out;
        static const std::regex k_command("\n  (\\S+) ");
        const std::string parts = section_of(help, "Commands");
        for (std::sregex_iterator at(parts.begin(), parts.end(), k_command), end; at != end; ++at)
            add_helps(path + (path.empty() ? "" : " ") + (*at)[1].str());
    }

    std::map<std::string, std::string> m_helps;
};

// With the real compiler, where there is one.
template <class Fixture>
class ForReal : public Fixture {
protected:
    void SetUp() override
    {
        Fixture::SetUp();
        const std::string file = this->write("try.cu", "__global__ void k() {}").string();
        const ProcessResult tried = this->hearth({"--dir", "try", "compile", file, "--arch", "sm_90"});
        if (tried.exit_code == 3)
            GTEST_SKIP() << tried.err;
    }

    ProcessOptions with(Environment environment = {}) const override
    {
        environment.try_emplace("HEARTH_NVRTC", std::nullopt);
        return Fixture::with(std::move(environment));
    }
};

}  // namespace hearth::test
