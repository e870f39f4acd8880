#include "compilers/command/step.hpp"

#include "support/scratch_directory.hpp"
#include "watch/manifest.hpp"
#include "watch/tree_log.hpp"
#include "watch/tree_record.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sys/mman.h>
#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;
using watch::Condition;

class Step : public testing::Test {
protected:
    Step()
    {
        std::ofstream(header) << "1";
        ::setenv("HEARTH_TEST_OF_STEPS", "as the tree has it", 1);
    }
    ~Step() override
    {
        ::unsetenv("HEARTH_TEST_OF_STEPS");
        ::close(descriptor);
    }

    std::string tree() const { return fmt::format("{}:0:0:{}", log.string(), fs::current_path().string()); }
    std::string written() const
    {
        std::ifstream file(log, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static watch::TreeLog read_log(const std::string& bytes)
    {
        return {as_bytes(bytes), {.directory = fs::current_path().string(), .environment = {}, .recorder = {}}};
    }
    // What a tree whose only program is this step knows of it.
    std::vector<Condition> told() const
    {
        const std::string bytes = written();
        const watch::TreeLog read = read_log(bytes);
        EXPECT_EQ(read.why_not_known(), "");
        Result<std::vector<Condition>> conditions = command::conditions_of_steps(read.answered());
        EXPECT_TRUE(conditions);
        return conditions ? *conditions : std::vector<Condition>{};
    }

    ScratchDirectory scratch;
    int descriptor = ::memfd_create(watch::k_tree_log_name, MFD_CLOEXEC);
    fs::path log = fmt::format("/proc/self/fd/{}", descriptor);
    fs::path header = fs::path(scratch.path()) / "value.h";
    fs::path output = fs::path(scratch.path()) / "x.ptx";
};

Condition content_of(const fs::path& path)
{
    Condition condition{.kind = Condition::Kind::content, .spot = {watch::Spot::From::root, 0, path.string()}};
    condition.digest[0] = 1;
    return condition;
}

}  // namespace

TEST_F(Step, that_was_answered_is_known_to_its_tree_as_if_it_had_run)
{
    std::ofstream(output) << "made";
    command::Plan plan;
    plan.command.words = {"/proc/self/exe", "x.ii"};
    plan.options.step_of = tree();
    plan.call.outputs = {output.string()};
    plan.question.places.directories = {scratch.path()};
    Condition below = content_of("value.h");
    below.spot = {watch::Spot::From::directory, 0, "value.h"};
    command::tell_what_was_answered(
        plan, {below, {.kind = Condition::Kind::variable, .name = "HEARTH_TEST_OF_STEPS", .text = "as nvcc set it"}});

    const std::string bytes = written();
    const watch::TreeLog read = read_log(bytes);
    ASSERT_EQ(read.programs().size(), 1U);
    EXPECT_EQ(read.programs()[0].words, plan.command.words);
    EXPECT_EQ(read.programs()[0].path, fs::read_symlink("/proc/self/exe").string());
    EXPECT_EQ(read.left_behind(), std::vector<std::string>{output.string()});
    const std::vector<Condition> conditions = told();
    ASSERT_EQ(conditions.size(), 2U);
    EXPECT_EQ(conditions[0].spot, (watch::Spot{watch::Spot::From::root, 0, header.string()}));
    EXPECT_EQ(conditions[1].text, "as the tree has it");
}

TEST_F(Step, that_ran_is_known_to_its_tree_by_the_number_of_who_was_started)
{
    command::Ended ended;
    ended.process = 4711;
    watch::TreeRecord head;
    head.size = sizeof head + 8;
    head.did = watch::Did::entered;
    head.name_size = 8;
    std::string records;
    for (const std::uint32_t process : {4711U, 4712U}) {
        head.process = process;
        records.append(reinterpret_cast<const char*>(&head), sizeof head).append("/bin/one");
    }
    ended.log = Bytes::copy_of(records);
    command::tell_what_ran(tree(), ended);
    const std::string bytes = written();
    ASSERT_EQ(bytes.size(), records.size());
    std::memcpy(&head, bytes.data(), sizeof head);
    EXPECT_EQ(head.process, static_cast<std::uint32_t>(::getpid()));
    std::memcpy(&head, bytes.data() + head.size, sizeof head);
    EXPECT_EQ(head.process, 4712U);
}

TEST_F(Step, adds_what_the_tree_does_not_know_and_which_files_are_the_same)
{
    const fs::path same = fs::path(scratch.path()) / "link.h";
    fs::create_symlink(header, same);
    watch::Conditions conditions;
    conditions.list = {content_of(header)};
    conditions.stamps.of.resize(1);
    command::add_conditions_of_steps(
        {content_of(header), content_of(same), {.kind = Condition::Kind::place, .text = "held by the tree"}}, {},
        conditions);
    ASSERT_EQ(conditions.list.size(), 2U);
    EXPECT_EQ(conditions.stamps.of.size(), 2U);
    EXPECT_EQ(conditions.list[1].spot.rest, same.string());
    EXPECT_EQ(conditions.list[1].same_file, 0U);
}

TEST_F(Step, whose_answer_is_damaged_or_needs_more_than_files_is_not_known)
{
    EXPECT_FALSE(command::conditions_of_steps({"damaged"}));
    const std::vector<Condition> along_path{{.kind = Condition::Kind::found, .name = "gcc", .text = "/usr/bin/gcc"}};
    EXPECT_FALSE(command::conditions_of_steps({std::string(watch::encode_conditions(along_path).text())}));
}

TEST_F(Step, in_another_directory_than_its_tree_cannot_tell)
{
    EXPECT_TRUE(command::can_tell(tree()));
    EXPECT_FALSE(command::can_tell(log.string() + ":0:0:/elsewhere"));
    EXPECT_FALSE(command::can_tell("damaged"));
}

TEST_F(Step, writes_to_no_file_that_is_not_the_log)
{
    command::Ended ended;
    ended.log = Bytes::copy_of(std::string_view("records"));
    command::tell_what_ran("/absent/log:0:0:/", ended);
    command::tell_what_ran(header.string() + ":0:0:/", ended);
    EXPECT_EQ(fs::file_size(header), 1U);
    const int other = ::open(header.c_str(), O_RDWR | O_CLOEXEC);
    command::tell_what_ran(fmt::format("/proc/self/fd/{}:0:0:/", other), ended);
    EXPECT_EQ(fs::file_size(header), 1U);
    ::close(other);
    command::tell_what_ran(tree(), ended);
    EXPECT_EQ(written(), "records");
}

// As many as an entry may have: looking each of them up in a list would take minutes.
TEST_F(Step, with_very_many_conditions_is_merged_once_each)
{
    std::vector<Condition> many;
    for (std::uint32_t i = 0; i < watch::k_most_conditions; ++i)
        many.push_back({.kind = Condition::Kind::variable_unset, .name = fmt::format("HEARTH_TEST_{}", i / 2)});
    watch::Conditions all;
    command::add_conditions_of_steps(many, {}, all);
    command::add_conditions_of_steps(many, {}, all);
    EXPECT_EQ(all.list.size(), watch::k_most_conditions / 2);
}

}  // namespace hearth::test
