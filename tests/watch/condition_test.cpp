#include "watch/condition.hpp"

#include "opens.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"
#include "watch/source_file.hpp"
#include "watched_nvrtc.hpp"

#include <filesystem>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using watch::Condition;

constexpr std::array<std::string_view, 2> k_known{"libnvrtc-builtins", "libcuda.so"};

// A program with two include directories; what a compile of it asked becomes conditions, which are then checked in a
// world that changed.
class ConditionsOfNvrtc : public testing::Test {
protected:
    void SetUp() override
    {
        if (WatchedNvrtc::get() == nullptr)
            GTEST_SKIP() << "there is no libnvrtc";
        for (const char* name : {"a", "b", "c"})
            std::filesystem::create_directories(m_scratch / name);
        m_places = {std::filesystem::current_path().string(), {}, {m_scratch / "a", m_scratch / "b"}};
    }

    void compile(const std::string& source)
    {
        std::vector<std::string> options;
        for (const std::string& directory : m_places.directories)
            options.push_back("-I" + directory);
        watch::Recording recording;
        m_status = WatchedNvrtc::get()->compile(source, options);
        const auto found = watch::conditions_of(recording.finish(), m_places, k_known);
        ASSERT_TRUE(found.ok()) << found.error().message;
        m_conditions = *found;
        EXPECT_EQ(broken(), "");
    }

    std::string broken()
    {
        watch::CheckBudget budget;
        const std::size_t at = watch::first_broken(m_conditions.list, m_conditions.stamps, m_places, {}, budget);
        return at < m_conditions.list.size() ? watch::why_broken(m_conditions.list[at], m_places) : std::string();
    }

    ScratchDirectory m_scratch;
    watch::Places m_places;
    watch::Conditions m_conditions;
    int m_status = -1;
};

}  // namespace

TEST_F(ConditionsOfNvrtc, break_when_a_header_changes_goes_or_is_hidden_by_another)
{
    const std::string in_b = m_scratch / "b/v.h";
    const std::string in_a = m_scratch / "a/v.h";
    write_file(in_b, "#define V 1\n");
    compile("#include <v.h>\n__global__ void k() {}");
    EXPECT_EQ(m_status, 0);

    write_file(in_b, "#define V 2\n");
    EXPECT_EQ(broken(), "v.h in " + (m_scratch / "b") + " has changed");
    write_file(in_b, "#define V 1\n");
    EXPECT_EQ(broken(), "");
    write_file(in_a, "#define V 1\n");
    EXPECT_EQ(broken(), "v.h in " + (m_scratch / "a") + " was not there and is now");
    std::filesystem::remove(in_a);
    EXPECT_EQ(broken(), "");
    std::filesystem::remove(in_b);
    std::filesystem::create_directory(in_b);
    EXPECT_NE(broken(), "");
}

TEST_F(ConditionsOfNvrtc, hold_where_the_whole_tree_has_moved)
{
    write_file(m_scratch / "b/v.h", "#define V 1\n");
    compile("#include <v.h>\n__global__ void k() {}");
    std::filesystem::rename(m_scratch / "b", m_scratch / "moved");
    EXPECT_NE(broken(), "");
    m_places.directories[1] = m_scratch / "moved";
    EXPECT_EQ(broken(), "");
}

// The same texts found through other directories: "x.h" includes "a.h", which is another file beside the other x.h.
TEST_F(ConditionsOfNvrtc, tell_in_which_directory_a_header_was_found)
{
    write_file(m_scratch / "a/x.h", "#include \"a.h\"\n");
    write_file(m_scratch / "a/a.h", "#define A 1\n");
    write_file(m_scratch / "b/a.h", "#define A 2\n");
    compile("#include <x.h>\n__global__ void k() {}");
    std::filesystem::rename(m_scratch / "a/x.h", m_scratch / "b/x.h");
    EXPECT_NE(broken(), "");
}

TEST_F(ConditionsOfNvrtc, of_a_compile_that_failed_break_when_what_was_missing_comes)
{
    compile("#include <later.h>\n__global__ void k() {}");
    EXPECT_NE(m_status, 0);
    write_file(m_scratch / "b/later.h", "");
    EXPECT_EQ(broken(), "later.h in " + (m_scratch / "b") + " was not there and is now");
}

TEST_F(ConditionsOfNvrtc, break_when_a_variable_that_was_asked_for_is_set)
{
    IsolatedEnvironment environment;
    compile("__global__ void k() {}");
    environment.set("NVRTC_APPEND_FLAGS", "-DX");
    EXPECT_EQ(broken(), "the variable NVRTC_APPEND_FLAGS was not set");
}

// A link and a copy have the same text, but `#pragma once` takes a link for the file it leads to.
TEST_F(ConditionsOfNvrtc, tell_one_file_by_two_paths_from_two_files)
{
    write_file(m_scratch / "a/one.h", "#pragma once\nint x();\n");
    std::filesystem::create_symlink(m_scratch / "a/one.h", m_scratch / "b/two.h");
    compile("#include <one.h>\n#include <two.h>\n__global__ void k() {}");
    std::filesystem::remove(m_scratch / "b/two.h");
    std::filesystem::copy_file(m_scratch / "a/one.h", m_scratch / "b/two.h");
    EXPECT_NE(broken(), "");
}

TEST(Conditions, of_a_path_that_several_places_lead_to_need_all_of_them)
{
    watch::EventLog log;
    log.add({.asked = watch::Asked::status, .error = ENOENT, .name = "/p/sub/x.h"});
    const auto found = watch::conditions_of(log, {"/w", "/p", {"/p/sub", "/q"}}, {});
    ASSERT_TRUE(found.ok());
    ASSERT_EQ(found->list.size(), 2U);
    EXPECT_EQ(found->list[0].spot, (watch::Spot{watch::Spot::From::directory, 0, "x.h"}));
    EXPECT_EQ(found->list[1].spot, (watch::Spot{watch::Spot::From::program_directory, 0, "sub/x.h"}));
}

// Somebody may have made the list to keep its readers busy.
TEST(Conditions, that_name_one_file_often_read_it_once)
{
    const ScratchDirectory scratch;
    std::filesystem::create_directory(scratch / "d");
    write_file(scratch / "d/x.h", "text");
    int error = 0;
    std::vector<watch::Condition> list;
    for (std::string path = scratch / "d"; list.size() < 100; path += "/.") {
        list.push_back({.kind = watch::Condition::Kind::content,
                        .spot = {watch::Spot::From::root, 0, path + "/x.h"},
                        .digest = base::sha256(as_bytes(std::string_view("text")))});
        list.push_back({.kind = watch::Condition::Kind::names,
                        .spot = {watch::Spot::From::root, 0, path},
                        .digest = watch::digest_of_names(path, error)});
    }
    const Opens opens(scratch / "d/x.h");
    watch::Stamps stamps;
    watch::CheckBudget budget;
    EXPECT_EQ(watch::first_broken(list, stamps, {}, {}, budget), list.size());
    EXPECT_EQ(opens.count(), 1);
}

TEST(Conditions, are_looked_at_until_the_budget_of_their_question_is_spent)
{
    const ScratchDirectory scratch;
    std::filesystem::create_directory(scratch / "d");
    write_file(scratch / "d/last", "text");
    std::string path = scratch / "d";
    while (path.size() < 4000)
        path += "/../d";
    const watch::Spot far{watch::Spot::From::root, 0, path};
    const watch::Spot last{watch::Spot::From::root, 0, scratch / "d/last"};
    const base::Sha256 digest = base::sha256(as_bytes(std::string_view("text")));
    for (const Condition& one :
         {Condition{.kind = Condition::Kind::really, .spot = far, .text = scratch / "d"},
          Condition{.kind = Condition::Kind::absent, .spot = {watch::Spot::From::root, 0, path + "/absent"}}}) {
        std::vector<Condition> list(400, one);
        // What is told twice, one after the other, is looked at once.
        for (std::size_t i = 0; i < list.size(); i += 2)
            list[i] = {.kind = Condition::Kind::absent, .spot = {watch::Spot::From::root, 0, path + "/other"}};
        list.push_back({.kind = Condition::Kind::content,
                        .spot = last,
                        .digest = digest,
                        .same_file = static_cast<std::uint32_t>(list.size())});
        watch::Stamps stamps;
        watch::CheckBudget budget;
        EXPECT_EQ(watch::first_broken(list, stamps, {}, {}, budget), list.size()) << "a few are no burden";

        // As often as it may be, in lists of any number of results.
        std::size_t lists = 1;
        while (lists < 1000 && !budget.is_spent() && watch::first_broken(list, stamps, {}, {}, budget) == list.size())
            ++lists;
        EXPECT_TRUE(budget.is_spent());
        EXPECT_LT(lists, 40U);
        const Opens opens(scratch / "d/last");
        watch::Stamps none;
        EXPECT_EQ(watch::first_broken({list.back()}, none, {}, {}, budget), 0U) << "nothing more is looked at";
        EXPECT_EQ(opens.count(), 0);
    }
}

TEST(Conditions, cannot_be_had_of_what_passes_or_cannot_be_checked)
{
    for (const watch::Event& event : {watch::Event{.asked = watch::Asked::file, .error = EMFILE, .name = "/x.h"},
                                      watch::Event{.asked = watch::Asked::unanswered, .name = "fork"},
                                      watch::Event{.asked = watch::Asked::library, .name = "libother.so"},
                                      watch::Event{.asked = watch::Asked::where, .answer = "/elsewhere"},
                                      watch::Event{.asked = watch::Asked::file, .mode = 0020000, .name = "/dev/tty"}}) {
        watch::EventLog log;
        log.add(event);
        EXPECT_FALSE(watch::conditions_of(log, {"/w", {}, {}}, k_known).ok()) << event.name;
    }
    watch::EventLog incomplete;
    incomplete.mark_incomplete();
    EXPECT_FALSE(watch::conditions_of(incomplete, {}, {}).ok());
}

}  // namespace hearth::test
