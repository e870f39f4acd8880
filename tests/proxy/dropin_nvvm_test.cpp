// Programs that use libNVVM and know nothing of Hearth.
#include "served.hpp"

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class DropinNvvm : public Served {
protected:
    void SetUp() override
    {
        Served::SetUp();
        find_nvvm();
    }
    void find_nvvm()
    {
        need_library({"libnvvm.so.4"});
        command = {program("every_nvvm"), real};
        // The toolkit has it beside its libraries, in either layout.
        for (const char* above : {"..", "../.."})
            for (const std::string& file :
                 expand((fs::path(real).parent_path() / above / "nvvm/libdevice/libdevice.10.bc").string()))
                if (command.size() == 2)
                    command.push_back(file);
    }
    static ProcessOptions part(const char* name) { return {.environment = {{"EVERY_NVVM_PART", name}}}; }
};

class DropinNvvmNames : public DropinNvvm, public testing::WithParamInterface<std::string> {
protected:
    void SetUp() override
    {
        DropinNvvm::SetUp();
        if (GetParam() == "path")
            return;
        command[1] = GetParam();
        need(fs::path(real).parent_path() / GetParam());  // only the toolkit has one without a version
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
    void SetUp() override { find_nvvm(); }
};

// With sanitizers this is where they look into it.
TEST_F(DropinNvvmCode, gives_inside_one_program_what_the_real_library_gives)
{
    ProcessOptions options;
    options.limit = std::chrono::seconds(300);
    options.environment = {{"HEARTH_DIR", cache.string()}, {"HEARTH_NVVM", real}};
    Words words = command;
    for (const char* part : {"", "threads"}) {
        if (*part != '\0')
            options.environment["EVERY_NVVM_PART"] = part;
        words[0] = command[0];
        words[1] = real;
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
    EXPECT_TRUE(ends_printing(refused, 0, "compile 9"));
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
