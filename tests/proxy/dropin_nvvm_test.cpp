// Programs that use libNVVM and know nothing of Hearth.
#include "hearth/libraries.hpp"
#include "tools/command.hpp"

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class DropinNvvm : public Command {
protected:
    void SetUp() override
    {
        m_real = find_library({"libnvvm.so.4"});
        if (m_real.empty())
            GTEST_SKIP() << "No libnvvm is installed.";
        if (m_needs_dropins && std::string(HEARTH_DROPINS).empty())
            GTEST_SKIP() << "The drop-in libraries are not built here.";
    }
    std::vector<std::string> command() const
    {
        std::vector<std::string> words{std::string(HEARTH_PROGRAMS) + "/every_nvvm",
                                       m_opened.empty() ? m_real : m_opened};
        // The toolkit has it beside its libraries, in either layout.
        for (const char* above : {"..", "../.."})
            for (const std::string& file :
                 expand((fs::path(m_real).parent_path() / above / "nvvm/libdevice/libdevice.10.bc").string()))
                if (words.size() == 2)
                    words.push_back(file);
        return words;
    }
    ProcessOptions found(ProcessOptions options) const
    {
        options.environment["LD_LIBRARY_PATH"] = fs::path(m_real).parent_path().string();
        return options;
    }
    ProcessResult plain(const ProcessOptions& options = {}) { return run_process(command(), found(options)); }
    ProcessResult served(const ProcessOptions& options = {}, std::vector<std::string> words = {"--json"})
    {
        words.insert(words.begin(), "run");
        words.emplace_back("--");
        const std::vector<std::string> rest = command();
        words.insert(words.end(), rest.begin(), rest.end());
        return hearth(words, found(options));
    }
    static ProcessOptions part(const char* name) { return {.environment = {{"EVERY_NVVM_PART", name}}}; }

    bool m_needs_dropins = true;
    std::string m_real;
    std::string m_opened;  // the name by which it is opened; empty: its path
};

class DropinNvvmNames : public DropinNvvm, public testing::WithParamInterface<std::string> {
protected:
    void SetUp() override
    {
        DropinNvvm::SetUp();
        m_opened = GetParam() == "path" ? "" : GetParam();
        if (!m_opened.empty() && !fs::exists(fs::path(m_real).parent_path() / m_opened))
            GTEST_SKIP() << "Only the toolkit has a " << m_opened;
    }
};

}  // namespace

TEST_P(DropinNvvmNames, is_not_to_be_told_from_the_real_library_on_a_miss_and_on_a_hit)
{
    ProcessOptions options;
    options.environment["MALLOC_PERTURB_"] = "85";  // memory is never zero by chance
    const ProcessResult without = plain(options);
    ASSERT_EQ(without.exit_code, 0) << without.err;
    const ProcessResult miss = served(options);
    EXPECT_EQ(miss.exit_code, 0) << miss.err;
    EXPECT_EQ(miss.out, without.out);
    EXPECT_GT(summary_of(miss).value("compiled", 0), 10) << miss.err;
    const ProcessResult hit = served(options);
    EXPECT_EQ(hit.out, without.out);
    EXPECT_EQ(summary_of(hit).value("compiled", -1), 0) << hit.err;
    EXPECT_EQ(summary_of(hit).value("past_the_cache", -1), 0) << hit.err;
    EXPECT_GT(summary_of(hit).value("hits", 0), 10) << hit.err;
}

INSTANTIATE_TEST_SUITE_P(opened, DropinNvvmNames, testing::Values("path", "libnvvm.so.4", "libnvvm.so"),
                         [](const testing::TestParamInfo<std::string>& name) {
                             return name.param == "path"     ? "by_path"
                                    : name.param.size() > 10 ? "by_soname"
                                                             : "by_plain_name";
                         });

class DropinNvvmCode : public DropinNvvm {
protected:
    DropinNvvmCode() { m_needs_dropins = false; }
};

// With sanitizers this is where they look into it.
TEST_F(DropinNvvmCode, gives_inside_one_program_what_the_real_library_gives)
{
    ProcessOptions options;
    options.limit = std::chrono::seconds(300);
    options.environment = {{"HEARTH_DIR", cache.string()}, {"HEARTH_NVVM", m_real}};
    std::vector<std::string> words = command();
    for (const char* part : {"", "threads"}) {
        if (*part != '\0')
            options.environment["EVERY_NVVM_PART"] = part;
        words[0] = std::string(HEARTH_PROGRAMS) + "/every_nvvm";
        words[1] = m_real;
        const ProcessResult without = run_process(words, options);
        words[0] += "_inside";
        words[1] = "-";
        for (const char* time : {"miss", "hit"}) {
            const ProcessResult with = run_process(words, options);
            EXPECT_EQ(with.exit_code, 0) << with.err;
            EXPECT_EQ(with.out, without.out) << time;
        }
    }
}

TEST_F(DropinNvvm, answers_hits_without_the_library)
{
    EXPECT_NE(served(part("loaded")).out.find("2 libnvvm"), std::string::npos);
    const ProcessResult hit = served(part("loaded"));
    EXPECT_EQ(summary_of(hit).value("hits", 0), 1) << hit.err;
    EXPECT_NE(hit.out.find("1 libnvvm"), std::string::npos) << hit.out;
}

TEST_F(DropinNvvm, notes_one_compile_for_a_program_that_is_verified_first)
{
    const nlohmann::json miss = summary_of(served(part("plain")));
    EXPECT_EQ(miss.value("compiled", 0), 1) << miss;
    const nlohmann::json hit = summary_of(served(part("plain")));
    EXPECT_EQ(hit.value("hits", 0), 1) << hit;
    EXPECT_GT(hit.value("saved_seconds", 0.0), 0) << hit;
}

TEST_F(DropinNvvm, answers_threads_at_once)
{
    const ProcessResult without = plain(part("threads"));
    ASSERT_EQ(without.exit_code, 0) << without.err;
    const ProcessResult miss = served(part("threads"));
    EXPECT_EQ(miss.out, without.out);
    EXPECT_EQ(summary_of(miss).value("past_the_cache", -1), 0) << miss.err;
    const ProcessResult hit = served(part("threads"));
    EXPECT_EQ(hit.out, without.out);
    EXPECT_EQ(summary_of(hit).value("compiled", -1), 0) << hit.err;
}

TEST_F(DropinNvvm, compiles_nothing_where_that_is_forbidden)
{
    const ProcessResult refused = served(part("plain"), {"--json", "--forbid-compile"});
    EXPECT_EQ(refused.exit_code, 0) << refused.err;
    EXPECT_NE(refused.out.find("compile 9"), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("|hearth: kernel.ll"), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("HEARTH_FORBID_COMPILE"), std::string::npos) << refused.out;
    EXPECT_EQ(summary_of(refused).value("forbidden", 0), 1) << refused.err;
    const ProcessResult hidden = served(part("hidden"), {"--json", "--forbid-compile"});
    EXPECT_EQ(summary_of(hidden).value("forbidden", 0), 1) << hidden.err;
    EXPECT_EQ(summary_of(hidden).value("past_the_cache", -1), 0) << hidden.err;
}

TEST_F(DropinNvvm, leaves_programs_alone_that_use_functions_which_are_not_exported)
{
    const ProcessResult without = plain(part("hidden"));
    for (const char* time : {"once", "again"}) {
        const ProcessResult with = served(part("hidden"));
        EXPECT_EQ(with.out, without.out) << time;
        EXPECT_EQ(summary_of(with).value("past_the_cache", 0), 1) << with.err;
    }
}

TEST_F(DropinNvvm, changes_nothing_when_it_is_turned_off_or_its_directory_cannot_be_used)
{
    const ProcessResult without = plain();
    EXPECT_EQ(served({.environment = {{"HEARTH_DISABLE", "1"}}}, {}).out, without.out);
    EXPECT_EQ(served({.environment = {{"HEARTH_DIR", "/proc/no/such/place"}}}, {}).out, without.out);
}

}  // namespace hearth::test
