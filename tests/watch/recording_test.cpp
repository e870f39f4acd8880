#include "support/forks.hpp"
#include "support/in_threads.hpp"
#include "support/scratch_directory.hpp"
#include "watched_nvrtc.hpp"

#include <cerrno>
#include <filesystem>
#include <gtest/gtest.h>
#include <latch>
#include <set>
#include <thread>
#include <unistd.h>

namespace hearth::test {

namespace {

using watch::Asked;
using watch::Event;

int events_of_one_note()
{
    watch::Recording recording;
    watch::note({.asked = Asked::variable, .name = "X"});
    int events = 0;
    recording.finish().for_each([&](const Event&) { ++events; });
    return events;
}

class Recordings : public testing::Test {
protected:
    void SetUp() override
    {
        if (WatchedNvrtc::get() == nullptr)
            GTEST_SKIP() << "there is no libnvrtc";
        ASSERT_TRUE(WatchedNvrtc::get()->library().ok()) << WatchedNvrtc::get()->library().error().message;
        for (const char* name : {"a", "b"})
            std::filesystem::create_directories(m_scratch / name);
    }

    struct Seen {
        int status = -1;
        bool complete = false;
        std::set<std::string> read, missed, variables, others;
    };
    Seen compile(const std::string& source, const std::vector<std::string>& options = {}) const
    {
        Seen seen;
        watch::Recording recording;
        seen.status = WatchedNvrtc::get()->compile(source, options);
        const watch::EventLog& log = recording.finish();
        seen.complete = log.is_complete();
        log.for_each([&](const Event& event) {
            const std::string name(event.name);
            if (event.asked == Asked::variable)
                seen.variables.insert(name);
            else if (event.asked == Asked::unanswered)
                seen.others.insert(name);
            else if (event.asked == Asked::file && event.error == 0)
                seen.read.insert(name);
            else if (event.error == ENOENT)
                seen.missed.insert(name);
        });
        return seen;
    }

    ScratchDirectory m_scratch;
};

}  // namespace

TEST_F(Recordings, show_what_was_read_and_what_was_looked_for_first)
{
    write_file(m_scratch / "b/v.h", "__device__ int v;\n");
    const Seen seen =
        compile("#include <v.h>\n__global__ void k() { v = 1; }", {"-I" + (m_scratch / "a"), "-I" + (m_scratch / "b")});
    EXPECT_EQ(seen.status, 0);
    EXPECT_TRUE(seen.complete);
    EXPECT_EQ(seen.read, (std::set<std::string>{m_scratch / "b/v.h"}));
    EXPECT_TRUE(seen.missed.contains(m_scratch / "a/v.h"));
    EXPECT_TRUE(seen.variables.contains("NVRTC_APPEND_FLAGS"));
    EXPECT_EQ(seen.others, (std::set<std::string>{}));
    EXPECT_TRUE((*WatchedNvrtc::get()->library())->is_watched());
}

TEST_F(Recordings, show_questions_that_no_include_directive_asks)
{
    write_file(m_scratch / "b/there.h", "");
    const Seen asked = compile("#if __has_include(<there.h>) && !__has_include(<gone.h>)\n#define OK\n#endif\n"
                               "__global__ void k() {}\n#ifndef OK\n#error no\n#endif",
                               {"-I" + (m_scratch / "b")});
    EXPECT_EQ(asked.status, 0);
    EXPECT_TRUE(asked.missed.contains(m_scratch / "b/gone.h"));

    write_file(m_scratch / "b/first.h", "#define FIRST\n");
    const Seen hidden = compile("__global__ void k() {}\n#ifndef FIRST\n#error no\n#endif",
                                {"-Xcudafe=--preinclude=" + (m_scratch / "b/first.h")});
    EXPECT_EQ(hidden.status, 0);
    EXPECT_TRUE(hidden.read.contains(m_scratch / "b/first.h"));
}

TEST_F(Recordings, of_threads_hold_what_each_of_them_asked)
{
    in_threads(8, [&](std::uint64_t i) {
        const std::string name = "own" + std::to_string(i) + ".h";
        write_file(m_scratch / ("b/" + name), "");
        const Seen seen = compile("#include <" + name + ">\n__global__ void k() {}", {"-I" + (m_scratch / "b")});
        EXPECT_EQ(seen.read, std::set<std::string>{m_scratch / ("b/" + name)});
    });
}

TEST_F(Recordings, go_on_in_a_child_that_was_forked_meanwhile)
{
    SKIP_FORKS_BESIDE_THREADS();
    write_file(m_scratch / "b/v.h", "");
    std::atomic<bool> ended{false};
    std::thread busy([&] {
        while (!ended)
            static_cast<void>(compile("#include <v.h>\n__global__ void k() {}", {"-I" + (m_scratch / "b")}));
    });
    for (int i = 0; i < 20; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            // What a recorder does, without a compile: NVRTC's own locks may be held by a thread that is not here.
            ::_exit(events_of_one_note() == 1 ? 0 : 1);
        }
        EXPECT_TRUE(child_was_right(child));
    }
    ended = true;
    busy.join();
}

// Its threads get the stacks, and the numbers, of those that are not there.
TEST(RecordingForks, a_thread_of_a_child_has_a_recording_of_its_own)
{
    SKIP_FORKS_WITH_THREADS();
    std::latch begun(1);
    std::latch go_on(1);
    std::jthread other([&] {
        watch::Recording recording;
        begun.count_down();
        go_on.wait();
    });
    begun.wait();
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        int events = 0;
        std::thread([&] { events = events_of_one_note(); }).join();
        ::_exit(events == 1 ? 0 : 1);
    }
    EXPECT_TRUE(child_was_right(child));
    go_on.count_down();
}

TEST_F(Recordings, leave_errno_as_it_was)
{
    watch::Recording recording;
    errno = EXDEV;
    watch::note({.asked = Asked::variable, .name = "X"});
    recording.finish();
    EXPECT_EQ(errno, EXDEV);
}

TEST_F(Recordings, beyond_the_most_that_there_can_be_say_that_they_are_incomplete)
{
    std::vector<std::unique_ptr<watch::Recording>> all;
    for (int i = 0; i < 256; ++i)
        all.push_back(std::make_unique<watch::Recording>());
    watch::Recording one_more;
    EXPECT_FALSE(one_more.finish().is_complete());
    all.clear();
    watch::Recording again;
    EXPECT_TRUE(again.finish().is_complete());
}

}  // namespace hearth::test
