// Programs that use nvJitLink and know nothing of Hearth.
#include "hearth/libraries.hpp"
#include "tools/command.hpp"

#include <sstream>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class DropinLink : public Command {
protected:
    void SetUp() override
    {
        if (std::string(HEARTH_DROPINS).empty())
            GTEST_SKIP() << "The drop-in libraries are not built here.";
        m_real = find_library({"libnvJitLink.so.13", "libnvJitLink.so.12"});
        if (m_real.empty())
            GTEST_SKIP() << "No libnvJitLink is installed.";
        m_program = std::string(HEARTH_PROGRAMS) +
                    (m_real.find(".so.12") != std::string::npos ? "/every_link_12" : "/every_link");
    }
    std::vector<std::string> command() const { return {m_program, m_real, scratch.string()}; }
    // Beside a driver nvJitLink has a cache of its own, and leaves messages out that are not in it.
    static ProcessOptions honest(ProcessOptions options)
    {
        options.environment["CUDA_CACHE_DISABLE"] = "1";
        return options;
    }
    ProcessResult plain(const ProcessOptions& options) { return run_process(command(), honest(options)); }
    ProcessResult served(ProcessOptions options, std::vector<std::string> words = {"--json"})
    {
        options = honest(std::move(options));
        words.insert(words.begin(), "run");
        words.emplace_back("--");
        const std::vector<std::string> rest = command();
        words.insert(words.end(), rest.begin(), rest.end());
        return hearth(words, options);
    }

    std::string m_real;
    std::string m_program;
};

}  // namespace

TEST_F(DropinLink, is_not_to_be_told_from_the_real_library_under_either_spelling)
{
    ProcessOptions options;
    options.environment["EVERY_LINK_MISUSE"] = "1";
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
    ProcessOptions options;
    options.environment["HEARTH_RUN_LOG"] = write("log", "").string();
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
    EXPECT_EQ(refused.exit_code, 0) << refused.err;
    EXPECT_NE(refused.out.find("plain: create 6 there"), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("|hearth: "), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("HEARTH_FORBID_COMPILE"), std::string::npos) << refused.out;
    EXPECT_GT(summary_of(refused).value("forbidden", 0), 0) << refused.err;
    EXPECT_EQ(summary_of(refused).value("compiled", -1), 0) << refused.err;
    EXPECT_EQ(summary_of(refused).value("past_the_cache", -1), 0) << refused.err;
}

TEST_F(DropinLink, hands_on_a_failure_that_is_not_remembered)
{
    m_real = HEARTH_FAILING_NVJITLINK;
    m_program = std::string(HEARTH_PROGRAMS) + "/every_link";
    const ProcessResult without = plain({});
    ASSERT_NE(without.out.find("complete 7"), std::string::npos) << without.out;
    for (const char* time : {"miss", "again"})
        EXPECT_EQ(served({}).out, without.out) << time;
}

}  // namespace hearth::test
