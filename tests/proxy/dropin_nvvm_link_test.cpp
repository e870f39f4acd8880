// Programs that use libNVVM or nvJitLink and know nothing of Hearth.
#include "served.hpp"

#include <sstream>

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

class DropinLink : public Served {
protected:
    void SetUp() override
    {
        Served::SetUp();
        need("/usr/bin/python3");
        need_library({"libnvJitLink.so.13", "libnvJitLink.so.12"});
        command = links(real);
    }
    Words links(const std::string& library) const
    {
        return {"/usr/bin/python3", HEARTH_SCRIPTS "/every_link.py", library, scratch.string()};
    }
};

}  // namespace

TEST_F(DropinNvvm, is_not_to_be_told_from_the_real_library_however_it_is_opened)
{
    for (const std::string& name : {real, std::string("libnvvm.so.4"), std::string("libnvvm.so")}) {
        SCOPED_TRACE(name);
        if (!fs::exists(fs::path(real).parent_path() / name))
            continue;  // only the toolkit has one without a version
        command[1] = name;
        cache = scratch / (name == real ? "by-path" : name);
        // Memory is never zero by chance.
        const auto [miss, hit] = compare({.environment = {{"MALLOC_PERTURB_", "85"}}});
        EXPECT_GT(miss.value("compiled", 0), 10) << miss;
        EXPECT_TRUE(holds(hit, {{"compiled", 0}, {"past_the_cache", 0}}));
        EXPECT_GT(hit.value("hits", 0), 10) << hit;
    }
}

class DropinNvvmCode : public DropinNvvm {
protected:
    void SetUp() override { find_nvvm(); }
};

// With sanitizers this is where they look into it.
TEST_F(DropinNvvmCode, gives_inside_one_program_what_the_real_library_gives)
{
    ProcessOptions options{.environment = {{"HEARTH_DIR", cache.string()}, {"HEARTH_NVVM", real}},
                           .limit = std::chrono::seconds(300)};
    Words words = command;
    const ProcessResult without = run_process(words, options);
    words[0] += "_inside";
    words[1] = "-";
    for (const char* time : {"miss", "hit"}) {
        const ProcessResult with = run_process(words, options);
        EXPECT_EQ(with.exit_code, 0) << with.err;
        EXPECT_EQ(with.out, without.out) << time;
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
    const auto [miss, hit] = compare(part("plain"));
    EXPECT_TRUE(holds(miss, {{"compiled", 1}}));
    EXPECT_TRUE(holds(hit, {{"hits", 1}}));
    EXPECT_GT(hit.value("saved_seconds", 0.0), 0) << hit;
}

TEST_F(DropinNvvm, compiles_nothing_where_that_is_forbidden)
{
    const ProcessResult refused = served(part("plain"), {"--json", "--forbid-compile"});
    EXPECT_TRUE(ends_printing(refused, 0, "compile 9", "|hearth: kernel.ll", "HEARTH_FORBID_COMPILE"));
    EXPECT_TRUE(holds(summary_of(refused), {{"forbidden", 1}}));
    const ProcessResult hidden = served(part("hidden"), {"--json", "--forbid-compile"});
    EXPECT_TRUE(holds(summary_of(hidden), {{"forbidden", 1}, {"past_the_cache", 0}}));
}

TEST_F(DropinNvvm, leaves_programs_alone_that_use_functions_which_are_not_exported)
{
    const auto [first, second] = compare(part("hidden"));
    EXPECT_TRUE(holds(first, {{"past_the_cache", 1}}));
    EXPECT_TRUE(holds(second, {{"past_the_cache", 1}}));
}

TEST_F(DropinNvvm, changes_nothing_when_it_is_turned_off_or_its_directory_cannot_be_used)
{
    compare_without_a_cache();
}

TEST_F(DropinLink, is_not_to_be_told_from_the_real_library_under_either_spelling)
{
    // Memory is never zero by chance.
    compare({.environment = {{"EVERY_LINK_MISUSE", "1"}, {"MALLOC_PERTURB_", "85"}}});
}

TEST_F(DropinLink, answers_what_was_linked_before)
{
    const auto [miss, hit] = compare();
    EXPECT_GT(miss.value("compiled", 0), 0) << miss;
    EXPECT_GT(hit.value("hits", 0), 0) << hit;
    // Under either spelling there is one link with a file that is not there.
    EXPECT_TRUE(holds(hit, {{"compiled", 0}, {"past_the_cache", 2}}));
}

TEST_F(DropinLink, changes_nothing_when_it_is_turned_off_or_its_directory_cannot_be_used)
{
    compare_without_a_cache();
}

// A link's steps are compiles of their own; what they cost is what the link costs.
TEST_F(DropinLink, notes_a_link_with_all_of_its_steps)
{
    const ProcessOptions options{.environment = {{"HEARTH_RUN_LOG", write("log", "").string()}}};
    served(options, {});
    write("log", "");
    served(options, {});
    double saved = 0;
    std::istringstream lines(read(scratch / "log"));
    for (std::string line; std::getline(lines, line);) {
        const nlohmann::json event = nlohmann::json::parse(line, nullptr, false);
        const bool is_gone = event.value("name", "") == "g.ptx";
        EXPECT_EQ(event.value(is_gone ? "reason" : "outcome", ""), is_gone ? "a file cannot be read" : "hit") << line;
        saved += event.value("cost_ms", 0.0);
    }
    double cost = 0;
    for (const nlohmann::json& row : json_lines_of({"ls", "--json"}))
        if (row.value("compiler", "") == "nvjitlink" && row.value("status", -1) == 0)
            cost += row.value("cost_seconds", 0.0) * 1e3;
    EXPECT_GT(cost, 0);
    EXPECT_GT(saved, cost * 0.99);
}

TEST_F(DropinLink, is_refused_at_its_first_step_where_compiling_is_forbidden)
{
    const ProcessResult refused = served({}, {"--json", "--forbid-compile"});
    EXPECT_TRUE(ends_printing(refused, 0, "plain: create 6 there", "|hearth: ", "HEARTH_FORBID_COMPILE"));
    EXPECT_GT(summary_of(refused).value("forbidden", 0), 0) << refused.err;
    EXPECT_TRUE(holds(summary_of(refused), {{"compiled", 0}, {"past_the_cache", 0}}));
}

TEST_F(DropinLink, hands_on_a_failure_that_is_not_remembered)
{
    command = links(HEARTH_FAILING_NVJITLINK);
    EXPECT_NE(plain().out.find("complete 7"), std::string::npos);
    compare();
}

}  // namespace hearth::test
