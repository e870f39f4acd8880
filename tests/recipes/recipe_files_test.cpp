// Reading and merging recipe files.

#include "compilers/nvrtc/recorded_key.hpp"
#include "recipes/recipe_data.hpp"
#include "support/faulty_files.hpp"
#include "support/forks.hpp"
#include "support/scratch_directory.hpp"

#include <cerrno>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace hearth::test {

namespace {

using format::RecipeUse;

base::Sha256 digest_of(std::string_view text)
{
    return base::sha256(as_bytes(text));
}

class RecipeFiles : public testing::Test {
protected:
    static format::Recipe recipe(const std::string& source, const std::string& header = "")
    {
        format::Recipe made;
        made.key = Key::of("recipe files", source, header);
        made.source = digest_of(source);
        made.name = source + ".cu";
        if (!header.empty())
            made.files = {{"/inc/h.h", "I:h.h", digest_of(header), false}};
        return made;
    }
    static std::string content(const std::string& text)
    {
        return format::encode_content(digest_of(text), as_bytes(text), 3);
    }
    // A use by the process of that number.
    static RecipeUse use(const format::Recipe& of, std::uint32_t pid, int milliseconds, std::uint64_t count = 1)
    {
        return {of.key, count, std::chrono::milliseconds(milliseconds), pid, std::chrono::seconds(1'700'000'000)};
    }
    std::string file(const std::string& name, const std::string& bytes) const
    {
        write_file(m_scratch / name, bytes);
        return m_scratch / name;
    }
    recipes::Recipes read(const std::string& bytes) const { return recipes::read(file("r", bytes)).value(); }

    ScratchDirectory m_scratch;
};

}  // namespace

TEST_F(RecipeFiles, list_each_recipe_once_with_its_uses_added_up)
{
    const format::Recipe a = recipe("a", "header");
    const format::Recipe b = recipe("b");
    // Two processes have recorded the same.
    const std::string path = file("r", content("a") + content("header") + encode_recipe(a) + encode_use(use(a, 1, 50)) +
                                           content("a") + encode_recipe(a) + encode_use(use(a, 2, 20, 7)) +
                                           encode_use(use(a, 1, 90)) + content("b") + encode_recipe(b));
    const recipes::Recipes all = recipes::read(path).value();
    ASSERT_EQ(all.list().size(), 2U);
    EXPECT_EQ(all.list()[0].name, "a.cu");
    EXPECT_EQ(all.list()[0].uses, 9U);
    EXPECT_EQ(all.list()[0].processes, 2U);
    EXPECT_EQ(all.list()[0].first_use, std::chrono::milliseconds(20));
    EXPECT_EQ(all.list()[0].header_bytes, 6U);
    EXPECT_EQ(all.list()[0].missing, "");
    EXPECT_EQ(all.list()[1].uses, 0U);
    EXPECT_EQ(all.content_bytes(), 1U + 6U + 1U);
    EXPECT_EQ(all.damage().places, 0U);
}

TEST_F(RecipeFiles, say_what_a_recipe_lacks_and_prefer_one_that_is_whole)
{
    const recipes::Recipes one = read(content("a") + encode_recipe(recipe("a", "header")));
    EXPECT_EQ(one.list().at(0).missing, "1 of its 2 contents is not in the file, such as /inc/h.h.");
    format::Recipe lacking = recipe("a");
    lacking.given = {{"lost.h", digest_of("lost")}};
    const recipes::Recipes all = read(content("a") + encode_recipe(lacking) + encode_recipe(recipe("a")));
    ASSERT_EQ(all.list().size(), 1U);
    EXPECT_EQ(all.list()[0].missing, "");
    EXPECT_EQ(all.list()[0].headers, 0U);
}

TEST_F(RecipeFiles, merge_to_one_that_has_everything_once_and_is_nobody_elses_to_read)
{
    const format::Recipe a = recipe("a", "shared");
    const format::Recipe b = recipe("b", "shared");
    const std::string one =
        file("one", content("shared") + content("a") + encode_recipe(a) + encode_use(use(a, 1, 5)) + "torn");
    const std::string two = file("two", content("shared") + content("b") + content("nobody's") + encode_recipe(b) +
                                            encode_recipe(a) + encode_use(use(a, 2, 3)) + encode_use(use(b, 2, 4)));
    const recipes::MergeReport report = recipes::merge(m_scratch / "out", {one, two}).value();
    EXPECT_EQ(report.recipes, 2U);
    EXPECT_EQ(report.uses, 3U);
    EXPECT_EQ(report.damage.places, 1U);
    EXPECT_EQ(report.damage.bytes, 4U);
    EXPECT_EQ(report.bytes, std::filesystem::file_size(m_scratch / "out"));
    EXPECT_EQ(std::filesystem::status(m_scratch / "out").permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    const recipes::Recipes all = recipes::read(m_scratch / "out").value();
    ASSERT_EQ(all.list().size(), 2U);
    EXPECT_EQ(all.list()[0].uses, 2U);
    EXPECT_EQ(all.list()[0].first_use, std::chrono::milliseconds(3));
    EXPECT_EQ(all.list()[1].missing, "");
    EXPECT_EQ(all.damage().places, 0U);
    EXPECT_EQ(all.data().contents.size(), 3U) << "what no recipe needs is left out";
}

TEST_F(RecipeFiles, merged_with_themselves_stay_what_they_are)
{
    const format::Recipe a = recipe("a");
    const std::string path = file("r", content("a") + encode_recipe(a) + encode_use(use(a, 1, 5)) +
                                           encode_use(use(a, 1, 6)) + encode_recipe(a));
    ASSERT_TRUE(recipes::merge(path, {path, path}).ok());
    const std::string once = read_file(path);
    EXPECT_EQ(recipes::read(path).value().list().at(0).uses, 2U);
    ASSERT_TRUE(recipes::merge(path, {path, path}).ok());
    EXPECT_EQ(read_file(path), once);
}

TEST_F(RecipeFiles, that_cannot_be_read_or_written_are_told_and_leave_what_is_there)
{
    const std::string good = file("good", encode_recipe(recipe("a")));
    const std::string text = file("text", "no recipes");
    const std::string there = file("there", "untouched");
    EXPECT_NE(recipes::read(m_scratch / "none").error().message.find("No such file"), std::string::npos);
    EXPECT_NE(recipes::read(m_scratch.path()).error().message.find("Is a directory"), std::string::npos);
    EXPECT_EQ(recipes::merge(there, {good, text}).error().code, Code::corrupt);
    EXPECT_EQ(recipes::merge(there, {good, m_scratch / "none"}).error().code, Code::io);
    EXPECT_EQ(read_file(there), "untouched");
    const Result<recipes::MergeReport> nowhere = recipes::merge(m_scratch / "none/out", {good});
    ASSERT_FALSE(nowhere.ok());
    EXPECT_NE(nowhere.error().message.find("none/out"), std::string::npos) << nowhere.error().message;
    EXPECT_EQ(snapshot(m_scratch.path()).size(), 3U) << "nothing half-written is left";
}

TEST_F(RecipeFiles, are_not_written_over_what_is_none)
{
    const std::string good = file("good", content("a") + encode_recipe(recipe("a")));
    const std::string source = file("source.cu", "__global__ void k() {}");
    const Result<recipes::MergeReport> merged = recipes::merge(source, {good});
    ASSERT_FALSE(merged.ok());
    EXPECT_NE(merged.error().message.find("something else than recipes"), std::string::npos) << merged.error().message;
    EXPECT_FALSE(recipes::check_recordable(source).ok());
    EXPECT_TRUE(recipes::check_recordable(good).ok());
    EXPECT_TRUE(recipes::check_recordable(m_scratch / "new").ok());
    EXPECT_EQ(read_file(source), "__global__ void k() {}");
}

TEST_F(RecipeFiles, on_a_full_disk_leave_what_is_there)
{
    const std::string good = file("good", content("a") + encode_recipe(recipe("a")));
    const std::string there = file("there", encode_recipe(recipe("b")));
    const std::uint64_t operations = [&] {
        FaultyFiles files({.error = ENOSPC});
        EXPECT_TRUE(recipes::merge(files, m_scratch / "whole", {good}, nvrtc::comes_to_its_key).ok());
        return files.strikable();
    }();
    ASSERT_GE(operations, 3U);
    for (std::uint64_t first = 0; first < operations; ++first) {
        FaultyFiles files({.error = ENOSPC, .first = first});
        const Result<recipes::MergeReport> full = recipes::merge(files, there, {good}, nvrtc::comes_to_its_key);
        ASSERT_FALSE(full.ok());
        EXPECT_EQ(full.error().code, Code::no_space);
        EXPECT_NE(full.error().message.find(there), std::string::npos) << full.error().message;
    }
    EXPECT_EQ(read_file(there), encode_recipe(recipe("b")));
    EXPECT_EQ(snapshot(m_scratch.path()).size(), 3U) << "nothing half-written is left";
}

TEST_F(RecipeFiles, without_a_content_or_with_one_that_is_none_take_it_from_another_file)
{
    const std::string wrong =
        file("wrong", format::encode_content(digest_of("a"), as_bytes("not a"), 3) + encode_recipe(recipe("a")));
    const std::string lacking = file("lacking", encode_recipe(recipe("a")));
    const std::string right = file("right", content("a") + encode_recipe(recipe("other")));
    for (const auto& order : {std::vector{wrong, right}, std::vector{right, wrong}, std::vector{lacking, right}}) {
        ASSERT_TRUE(recipes::merge(m_scratch / "out", order).ok());
        const recipes::Recipes all = recipes::read(m_scratch / "out").value();
        for (const recipes::Recipe& one : all.list())
            EXPECT_EQ(one.missing.empty(), one.name == "a.cu") << one.missing;
        const std::optional<Bytes> raw = all.data().content(digest_of("a"));
        ASSERT_TRUE(raw);
        EXPECT_EQ(raw->text(), "a");
    }
}

TEST_F(RecipeFiles, of_recipes_with_one_key_prefer_the_one_that_comes_to_it)
{
    const std::string source = "__global__ void k() {}";
    format::Recipe honest = recipe(source);
    honest.name = "k.cu";
    honest.options = {"-arch=sm_90"};
    honest.build_id = "0123";
    honest.compiler = "nvrtc 13.0";
    honest.key = nvrtc::question_there(honest, {.source = source, .name = "k.cu"}, honest.options, {{}, "0123", {}});
    format::Recipe elsewhere = honest;
    elsewhere.working_directory = "/elsewhere";
    format::Recipe made_up = honest;
    made_up.options = {"-arch=sm_80"};
    format::Recipe unasked = honest;
    unasked.compiler = "";
    const auto first_of = [&](const std::vector<format::Recipe>& order) {
        std::string bytes = content(source);
        for (const format::Recipe& one : order)
            bytes += encode_recipe(one);
        const recipes::Recipes all = read(bytes);
        EXPECT_EQ(all.list().size(), 1U);
        return all.data().recipes.at(0);
    };
    EXPECT_EQ(first_of({made_up, honest}), honest);
    EXPECT_EQ(first_of({honest, made_up}), honest);
    EXPECT_EQ(first_of({made_up, made_up, elsewhere, honest}), elsewhere) << "the first of those";
    EXPECT_EQ(first_of({unasked, honest}), honest) << "which knows how the compile went";
}

TEST_F(RecipeFiles, larger_than_there_is_memory_for_are_an_error)
{
#if defined(HEARTH_HAS_ASAN) || defined(HEARTH_HAS_TSAN)
    GTEST_SKIP() << "a sanitizer takes more addresses than any limit leaves it";
#endif
    const std::string path = file("r", encode_recipe(recipe("a")));
    std::filesystem::resize_file(path, 3_GiB);  // a hole, which takes no room on the disk
    const pid_t child = ::fork();
    if (child == 0) {
        const rlimit limit{1_GiB, 1_GiB};
        bool right = ::setrlimit(RLIMIT_AS, &limit) == 0;
        const Result<recipes::Recipes> read = recipes::read(path);
        right = right && !read.ok() && read.error().code == Code::too_large;
        const Result<recipes::MergeReport> merged = recipes::merge(m_scratch / "out", {path});
        right = right && !merged.ok() && merged.error().code == Code::too_large;
        ::_exit(right ? 0 : 1);
    }
    EXPECT_TRUE(child_was_right(child));
}

TEST_F(RecipeFiles, uses_of_a_recipe_never_count_beyond_what_a_number_holds)
{
    const format::Recipe a = recipe("a");
    const recipes::Recipes all =
        read(encode_recipe(a) + encode_use(use(a, 1, 1, UINT64_MAX)) + encode_use(use(a, 1, 2, UINT64_MAX)));
    EXPECT_EQ(all.list().at(0).uses, UINT64_MAX);
}

}  // namespace hearth::test
