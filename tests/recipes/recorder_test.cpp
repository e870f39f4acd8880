#include "recipes/recorder.hpp"

#include "support/eventually.hpp"
#include "support/faulty_files.hpp"
#include "support/forks.hpp"
#include "support/in_threads.hpp"
#include "support/scale.hpp"
#include "support/scratch_directory.hpp"

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <gtest/gtest.h>
#include <mutex>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::test {

namespace {

using recipes::Recorder;

base::Sha256 recorded_digest(std::string_view text)
{
    return base::sha256(as_bytes(text));
}

// A recipe with one content, told apart by its number.
struct Numbered {
    explicit Numbered(std::uint64_t number)
    {
        text = "source " + std::to_string(number) + std::string(200 + number % 300, 'x');
        recipe.key = Key::of("recorder test", number);
        recipe.source = recorded_digest(text);
        recipe.name = "k" + std::to_string(number) + ".cu";
    }
    void record_with(Recorder& recorder, const LogSink& log = {}) const
    {
        if (recorder.claim(recipe.key)) {
            if (recorder.claim(recipe.source))
                recorder.append(format::encode_content(recipe.source, as_bytes(text), 3), log);
            recorder.append(format::encode_recipe(recipe), log);
        }
        recorder.use(recipe.key, log);
    }

    std::string text;
    format::Recipe recipe;
};

class Recording : public testing::Test {
protected:
    std::string path() const { return m_scratch / "r.recipes"; }

    // What is in the file, where every recipe is as it was recorded, with its content.
    format::DecodedRecipes decode()
    {
        m_bytes = read_file(path());
        Result<format::DecodedRecipes> decoded = format::decode_recipes(as_bytes(m_bytes), path());
        if (!decoded)
            throw std::runtime_error(decoded.error().message);
        for (const format::Recipe& recipe : decoded->recipes) {
            const Numbered expected(std::stoull(recipe.name.substr(1)));
            EXPECT_EQ(recipe, expected.recipe);
            const auto content = decoded->contents.find(recipe.source);
            if (content == decoded->contents.end())
                ADD_FAILURE() << recipe.name << " has no content";
            else
                EXPECT_EQ(format::unpack(content->second, recipe.source)->text(), expected.text);
        }
        return *std::move(decoded);
    }

    LogSink log()
    {
        return [this](LogLevel, std::string_view sentence) {
            const std::lock_guard lock(m_mutex);
            m_logged.emplace_back(sentence);
        };
    }

    ScratchDirectory m_scratch;
    Recorder m_recorder{base::system_files(), path()};
    std::string m_bytes;
    std::mutex m_mutex;
    std::vector<std::string> m_logged;
};

}  // namespace

TEST_F(Recording, writes_a_recipe_once_and_every_use_of_it_into_a_file_that_nobody_else_can_read)
{
    EXPECT_FALSE(std::filesystem::exists(path())) << "before there is something to write";
    for (int i = 0; i < 3; ++i)
        Numbered(1).record_with(m_recorder);
    EXPECT_EQ(std::filesystem::status(path()).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    const format::DecodedRecipes decoded = decode();
    EXPECT_EQ(decoded.recipes.size(), 1U);
    EXPECT_EQ(decoded.contents.size(), 1U);
    ASSERT_EQ(decoded.uses.size(), 3U);
    EXPECT_LT(decoded.uses[0].at, decoded.uses[1].at);
    EXPECT_EQ(decoded.uses[0].pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_GT(decoded.uses[0].at.count(), 0) << "since the process began, which is a while ago";
}

TEST_F(Recording, of_very_many_uses_is_short_and_counts_them)
{
    for (int i = 0; i < 4096; ++i)
        Numbered(1).record_with(m_recorder);
    const format::DecodedRecipes decoded = decode();
    EXPECT_EQ(decoded.uses.size(), 256U + 4U) << "512, 1024, 2048 and 4096 beside each of the first";
    std::uint64_t sum = 0;
    for (const format::RecipeUse& use : decoded.uses)
        sum += use.count;
    EXPECT_EQ(sum, 4096U);
}

TEST_F(Recording, that_learns_what_is_there_writes_only_what_is_not)
{
    for (int i = 0; i < 3; ++i) {
        Recorder recorder(base::system_files(), path());
        recorder.learn_what_is_there();
        Numbered(1).record_with(recorder);
    }
    const format::DecodedRecipes decoded = decode();
    EXPECT_EQ(decoded.records, 1U + 1U + 3U) << "a content, a recipe, and each use";
}

TEST_F(Recording, takes_nothing_for_written_that_was_cut_short_or_stands_behind_it)
{
    std::string whole;
    {
        Recorder recorder(base::system_files(), path());
        Numbered(1).record_with(recorder);
        whole = read_file(path());
    }
    for (std::size_t size = 14; size < whole.size(); size += 7) {
        // Killed in the middle of a record; another process goes on behind it.
        write_file(path(), whole.substr(0, size));
        Recorder other(base::system_files(), path());
        Numbered(2).record_with(other);
        Recorder recorder(base::system_files(), path());
        recorder.learn_what_is_there();
        Numbered(1).record_with(recorder);
        Numbered(2).record_with(recorder);
        const format::DecodedRecipes decoded = decode();
        EXPECT_TRUE(decoded.contents.contains(Numbered(1).recipe.source)) << size;
        EXPECT_TRUE(decoded.contents.contains(Numbered(2).recipe.source)) << size;
        EXPECT_GE(decoded.recipes.size(), 2U) << size;
    }
}

TEST_F(Recording, through_a_link_writes_what_it_points_to_and_makes_it_where_it_is_not_there_yet)
{
    std::filesystem::create_symlink("real", path());
    for (const bool is_there : {false, true}) {
        if (is_there)
            write_file(m_scratch / "real", "");
        Recorder recorder(base::system_files(), path());
        Numbered(1).record_with(recorder, log());
        EXPECT_TRUE(m_logged.empty()) << m_logged.front();
        EXPECT_EQ(decode().recipes.size(), 1U);
        EXPECT_TRUE(std::filesystem::is_symlink(path()));
        EXPECT_TRUE(std::filesystem::exists(m_scratch / "real"));
    }
}

TEST_F(Recording, by_many_threads_at_once_writes_everything_once)
{
    static constexpr std::uint64_t k_recipes = 40;
    in_threads(8, [&](std::uint64_t) {
        for (std::uint64_t number = 0; number < k_recipes; ++number)
            Numbered(number).record_with(m_recorder);
    });
    const format::DecodedRecipes decoded = decode();
    EXPECT_EQ(decoded.recipes.size(), k_recipes);
    EXPECT_EQ(decoded.uses.size(), 8 * k_recipes);
    EXPECT_EQ(decoded.damaged_places, 0U);
}

TEST_F(Recording, by_several_processes_into_one_file_loses_nothing)
{
    static constexpr std::uint64_t k_processes = 4;
    const std::uint64_t each = scaled(300);
    std::vector<pid_t> children;
    for (std::uint64_t child = 0; child < k_processes; ++child) {
        children.push_back(::fork());
        if (children.back() == 0) {
            Recorder recorder(base::system_files(), path());
            for (std::uint64_t i = 0; i < each; ++i)
                Numbered(i).record_with(recorder);
            ::_exit(0);
        }
    }
    for (const pid_t child : children)
        EXPECT_TRUE(child_was_right(child));
    const format::DecodedRecipes decoded = decode();
    EXPECT_EQ(decoded.recipes.size(), k_processes * each) << "each process writes them for itself";
    EXPECT_EQ(decoded.contents.size(), each);
    EXPECT_EQ(decoded.uses.size(), k_processes * each);
    EXPECT_EQ(decoded.damaged_places, 0U);
}

TEST_F(Recording, goes_on_in_a_forked_child_which_counts_for_itself)
{
    Numbered(1).record_with(m_recorder);
    const pid_t child = ::fork();
    if (child == 0) {
        Numbered(1).record_with(m_recorder);
        Numbered(2).record_with(m_recorder);
        ::_exit(0);
    }
    ASSERT_TRUE(child_was_right(child));
    Numbered(1).record_with(m_recorder);
    const format::DecodedRecipes decoded = decode();
    EXPECT_EQ(decoded.recipes.size(), 2U) << "what the parent has written is not repeated";
    ASSERT_EQ(decoded.uses.size(), 4U);
    EXPECT_EQ(decoded.uses[1].pid, static_cast<std::uint32_t>(child));
    EXPECT_EQ(decoded.uses[3].pid, static_cast<std::uint32_t>(::getpid()));
}

TEST_F(Recording, killed_at_any_moment_leaves_a_file_that_can_be_read)
{
    for (std::uint64_t round = 0; round < scaled(20); ++round) {
        const std::uint64_t before = round == 0 ? 0 : std::filesystem::file_size(path());
        const pid_t child = ::fork();
        if (child == 0) {
            Recorder recorder(base::system_files(), path());
            for (std::uint64_t i = 0;; ++i)
                Numbered(round * 1'000'000 + i).record_with(recorder);
        }
        EXPECT_TRUE(eventually("it has written something", [&] {
            std::error_code error;
            return std::filesystem::file_size(path(), error) >= before + 1000 * (round + 1) && !error;
        }));
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        const format::DecodedRecipes decoded = decode();
        EXPECT_GT(decoded.recipes.size(), round);
    }
}

TEST_F(Recording, on_a_full_disk_is_told_once_and_stops)
{
    // Opened, and then no write succeeds any more.
    FaultyFiles files({.error = ENOSPC, .first = 1});
    Recorder recorder(files, path());
    for (std::uint64_t i = 0; i < 5; ++i)
        Numbered(i).record_with(recorder, log());
    EXPECT_TRUE(recorder.stopped());
    ASSERT_EQ(m_logged.size(), 1U);
    EXPECT_EQ(m_logged[0], "Cannot append to " + path() +
                               ": No space left on device (28). Compiles are not recorded any more, and the program "
                               "goes on. Name another file, or one with more room, with HEARTH_RECORD.");
    EXPECT_EQ(files.count(FileOperation::pwrite), 1U) << "what failed is not tried again and again";
}

TEST_F(Recording, on_a_disk_that_fills_up_keeps_what_was_whole)
{
    const std::uint64_t operations = [&] {
        FaultyFiles files({.error = Fault::k_short});
        Recorder recorder(files, m_scratch / "whole");
        for (std::uint64_t i = 0; i < 3; ++i)
            Numbered(i).record_with(recorder);
        return files.strikable();
    }();
    ASSERT_GE(operations, 9U);
    for (std::uint64_t fails = 1; fails < operations; ++fails) {
        std::filesystem::remove(path());
        m_logged.clear();
        FaultyFiles files({.error = Fault::k_short, .first = fails});
        Recorder recorder(files, path());
        for (std::uint64_t i = 0; i < 3; ++i)
            Numbered(i).record_with(recorder, log());
        const format::DecodedRecipes decoded = decode();
        EXPECT_EQ(decoded.records, fails) << "those before the one that was cut";
        EXPECT_EQ(decoded.damaged_places, 1U);
        EXPECT_EQ(m_logged.size(), 1U);
    }
}

TEST_F(Recording, at_the_limit_of_file_sizes_is_told_once_and_ends_nobody)
{
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit limit{1000, 1000};
        bool right = ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
        Recorder recorder(base::system_files(), path());
        for (std::uint64_t i = 0; i < 50; ++i)
            Numbered(i).record_with(recorder, log());
        right = right && recorder.stopped() && m_logged.size() == 1;
        sigset_t pending;
        sigset_t blocked;
        ::sigpending(&pending);
        ::pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        right = right && ::sigismember(&pending, SIGXFSZ) == 0 && ::sigismember(&blocked, SIGXFSZ) == 0;
        ::_exit(right ? 0 : 1);
    }
    EXPECT_TRUE(child_was_right(child));
    const format::DecodedRecipes decoded = decode();
    EXPECT_GE(decoded.recipes.size(), 1U);
}

TEST_F(Recording, into_a_file_that_was_replaced_goes_on_in_the_one_that_is_there)
{
    const auto record = [&](std::uint64_t number) {
        m_recorder.look_for_the_file();
        Numbered(number).record_with(m_recorder, log());
    };
    record(1);
    record(2);
    // As merging into it does, and then as somebody does who wants to begin anew.
    write_file(m_scratch / "merged", read_file(path()));
    std::filesystem::rename(m_scratch / "merged", path());
    record(1);
    record(3);
    format::DecodedRecipes decoded = decode();
    EXPECT_EQ(decoded.uses.size(), 4U);
    EXPECT_EQ(decoded.damaged_places, 0U);
    std::filesystem::remove(path());
    record(2);
    decoded = decode();
    ASSERT_EQ(decoded.recipes.size(), 1U) << "as a whole: nothing of it is there any more";
    EXPECT_TRUE(m_logged.empty());
}

TEST_F(Recording, that_is_interrupted_tries_again)
{
    FaultyFiles files({.error = EINTR, .first = 1, .times = 2});
    Recorder recorder(files, path());
    Numbered(1).record_with(recorder, log());
    EXPECT_TRUE(m_logged.empty());
    EXPECT_EQ(decode().recipes.size(), 1U);
}

TEST_F(Recording, where_no_file_can_be_is_told_once_and_hangs_nobody)
{
    const std::string folder = m_scratch / "folder";
    std::filesystem::create_directory(folder);
    const std::string pipe = m_scratch / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    for (const std::string& wrong : {folder, pipe, m_scratch / "missing/r", std::string("/dev/null")}) {
        m_logged.clear();
        Recorder recorder(base::system_files(), wrong);
        Numbered(1).record_with(recorder, log());
        Numbered(2).record_with(recorder, log());
        ASSERT_EQ(m_logged.size(), 1U) << wrong;
        EXPECT_NE(m_logged[0].find(wrong), std::string::npos) << m_logged[0];
    }
}

TEST_F(Recording, has_one_recorder_for_a_path)
{
    EXPECT_EQ(&Recorder::of(path()), &Recorder::of(path()));
    EXPECT_NE(&Recorder::of(path()), &Recorder::of(m_scratch / "other"));
}

}  // namespace hearth::test
