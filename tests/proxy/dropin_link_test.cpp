// Programs that use nvJitLink and know nothing of Hearth.
#include "served.hpp"

#include <sstream>

namespace hearth::test {

namespace {

class DropinLink : public Served {
protected:
    void SetUp() override
    {
        Served::SetUp();
        need_library({"libnvJitLink.so.13", "libnvJitLink.so.12"});
        const bool is_of_12 = real.find(".so.12") != std::string::npos;
        command = {program(is_of_12 ? "every_link_12" : "every_link"), real, scratch.string()};
    }
};

}  // namespace

TEST_F(DropinLink, is_not_to_be_told_from_the_real_library_under_either_spelling)
{
    ProcessOptions options{.environment = {{"EVERY_LINK_MISUSE", "1"}}};
    options.environment["MALLOC_PERTURB_"] = "85";  // memory is never zero by chance
    const ProcessResult without = plain(options);
    ASSERT_EQ(without.exit_code, 0) << without.err;
    for (const char* time : {"miss", "hit"}) {
        const ProcessResult with = served(options);
        EXPECT_EQ(with.exit_code, 0) << with.err;
        EXPECT_EQ(with.out, without.out) << time;
    }
}

TEST_F(DropinLink, answers_what_was_linked_before)
{
    const ProcessResult first = served({});
    EXPECT_GT(summary_of(first).value("compiled", 0), 0) << first.err;
    const ProcessResult second = served({});
    EXPECT_EQ(second.out, first.out);
    EXPECT_EQ(summary_of(second).value("compiled", -1), 0) << second.err;
    // Under either spelling there is one link with a file that is not there.
    EXPECT_EQ(summary_of(second).value("past_the_cache", -1), 2) << second.err;
    EXPECT_GT(summary_of(second).value("hits", 0), 0) << second.err;
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
        if (event.value("name", "") == "g.ptx")
            EXPECT_EQ(event.value("reason", ""), "a file cannot be read") << line;
        else
            EXPECT_EQ(event.value("outcome", ""), "hit") << line;
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
    EXPECT_TRUE(ends_printing(refused, 0, "plain: create 6 there"));
    EXPECT_NE(refused.out.find("|hearth: "), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("HEARTH_FORBID_COMPILE"), std::string::npos) << refused.out;
    EXPECT_GT(summary_of(refused).value("forbidden", 0), 0) << refused.err;
    EXPECT_EQ(summary_of(refused).value("compiled", -1), 0) << refused.err;
    EXPECT_EQ(summary_of(refused).value("past_the_cache", -1), 0) << refused.err;
}

TEST_F(DropinLink, hands_on_a_failure_that_is_not_remembered)
{
    command = {program("every_link"), HEARTH_FAILING_NVJITLINK, scratch.string()};
    const ProcessResult without = plain({});
    ASSERT_NE(without.out.find("complete 7"), std::string::npos) << without.out;
    for (const char* time : {"miss", "again"})
        EXPECT_EQ(served({}).out, without.out) << time;
}

}  // namespace hearth::test
