#include "run_log/run_log.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"
#include "json/json.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::test {

class RunLog : public testing::Test {
protected:
    void name_log() { environment.set("HEARTH_RUN_LOG", log); }

    ScratchDirectory scratch;
    IsolatedEnvironment environment;
    const std::string log = scratch / "log";
};

TEST_F(RunLog, what_is_noted_is_read)
{
    write_file(log, "");
    name_log();
    EXPECT_TRUE(run_log::is_noting());
    const Key key = Key::of("a kernel");
    run_log::note({.what = "nvrtc",
                   .name = "a \"b\"\n",
                   .outcome = "hit",
                   .tier = "disk",
                   .key = key,
                   .bytes = 5000,
                   .cost_ms = 1.5});
    run_log::note({.what = "command", .name = "\xff", .outcome = "miss", .reason = "absent", .spent_ms = 20});
    const std::vector<run_log::Event> events = run_log::read(log);
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].what, "nvrtc");
    EXPECT_EQ(events[0].name, "a \"b\"\n");
    EXPECT_EQ(events[0].outcome, "hit");
    EXPECT_EQ(events[0].tier, "disk");
    EXPECT_EQ(events[0].key, key);
    EXPECT_EQ(events[0].bytes, 5000U);
    EXPECT_EQ(events[0].cost_ms, 1.5);
    EXPECT_EQ(events[0].pid, ::getpid());
    EXPECT_EQ(events[1].reason, "absent");
    EXPECT_EQ(events[1].spent_ms, 20);
    EXPECT_EQ(events[1].key, Key{});
}

TEST_F(RunLog, has_the_fields_that_the_page_lists)
{
    write_file(log, "");
    name_log();
    run_log::note({.outcome = "hit"});
    std::string line;
    std::getline(std::ifstream(log) >> std::ws, line);
    std::vector<std::string> noted = JsonValue::parse(line).names;

    std::vector<std::string> listed;
    std::ifstream page(HEARTH_JSON_PAGE);
    bool is_ours = false;
    for (std::string row; std::getline(page, row);) {
        if (row.starts_with("## "))
            is_ours = row == "## `hearth run --log FILE`";
        if (is_ours && row.starts_with("| `"))
            listed.push_back(row.substr(3, row.find('`', 3) - 3));
    }
    std::sort(noted.begin(), noted.end());
    std::sort(listed.begin(), listed.end());
    EXPECT_EQ(noted, listed);
}

// A run removes its log at its end, and what it has left running still has the name: in /tmp a neighbour can take it.
TEST_F(RunLog, a_pipe_in_the_place_of_the_log_is_not_waited_for)
{
    ASSERT_EQ(::mkfifo(log.c_str(), 0600), 0);
    name_log();
    run_log::note({.outcome = "hit"});
    const int reader = ::open(log.c_str(), O_RDONLY | O_NONBLOCK);
    std::vector<char> text(std::size_t{1} << 20U);
    EXPECT_LE(::read(reader, text.data(), text.size()), 0);
    // Whom nobody reads does not stop the program either.
    for (int i = 0; i < 2000; ++i)
        run_log::note({.outcome = "hit"});
    EXPECT_GT(::read(reader, text.data(), text.size()), 0);
    ::close(reader);
    run_log::note({.outcome = "hit"});
}

TEST_F(RunLog, a_link_of_another_user_is_not_followed)
{
    write_file(scratch / "there", "");
    std::filesystem::create_symlink(scratch / "there", log);
    name_log();
    run_log::note({.outcome = "hit"});
    EXPECT_EQ(run_log::read(scratch / "there").size(), 1U) << "one's own is";
    if (::lchown(log.c_str(), 65534, 65534) == 0) {
        run_log::note({.outcome = "hit"});
        EXPECT_EQ(run_log::read(scratch / "there").size(), 1U);
    }
}

TEST_F(RunLog, lines_that_are_none_are_passed_over)
{
    write_file(log, "{\"outcome\":\"hit\"}\n\n{\"outcome\":\n[1]\n{\"outcome\":7}\n{\"outcome\":\"miss\"}");
    const std::vector<run_log::Event> events = run_log::read(log);
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].outcome, "hit");
    EXPECT_EQ(events[1].outcome, "miss");
}

TEST_F(RunLog, nothing_is_written_that_nobody_asked_for)
{
    EXPECT_FALSE(run_log::is_noting());
    run_log::note({.outcome = "hit"});
    name_log();
    run_log::note({.outcome = "hit"});  // there is no such file, and none is made
    EXPECT_TRUE(snapshot(scratch.path()).empty());
    EXPECT_TRUE(run_log::read(log).empty());
}

}  // namespace hearth::test
