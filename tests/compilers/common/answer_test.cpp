#include "compilers/common/answer.hpp"

#include "support/in_threads.hpp"
#include "support/open_cache.hpp"
#include "support/scratch_directory.hpp"
#include "watch/manifest.hpp"
#include "watch/source_file.hpp"

#include <filesystem>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using compilers::Answer;
using compilers::Question;
using compilers::Watched;

// A compiler whose result is the text of v.h in the first directory that has one.
class Answering : public testing::Test {
protected:
    Answering()
    {
        for (const char* name : {"a", "b", "other"})
            std::filesystem::create_directories(m_scratch / name);
        m_question.request = Request::of("question", "one");
        m_question.label = "k.cu";
        m_question.places = {"/", "", {m_scratch / "a", m_scratch / "b"}};
        m_cache.emplace(open_cache(m_scratch / "cache"));
    }

    static Result<Watched> compile(const watch::Places& places)
    {
        watch::Conditions conditions;
        for (std::uint16_t i = 0; i < places.directories.size(); ++i) {
            watch::Condition condition{.spot = {watch::Spot::From::directory, i, "v.h"}, .same_file = i};
            const std::string path = condition.spot.path(places);
            if (std::filesystem::exists(path)) {
                const std::string text = read_file(path);
                condition.kind = watch::Condition::Kind::content;
                condition.digest = base::sha256(as_bytes(text));
                conditions.list.push_back(condition);
                return Watched{Artifact{std::string_view(text)}, std::move(conditions)};
            }
            conditions.list.push_back(condition);
        }
        Artifact failed{std::string_view("no v.h")};
        failed.status = 6;
        return Watched{std::move(failed), std::move(conditions)};
    }

    Answer ask(const Question& question)
    {
        Result<Answer> given = compilers::answer(*m_cache, question, [&, places = question.places] {
            ++m_compiles;
            return compile(places);
        });
        EXPECT_TRUE(given.ok()) << given.error().message;
        return *std::move(given);
    }

    // The text it was given, and whether that took a compile.
    std::string ask()
    {
        const int before = m_compiles;
        const Answer given = ask(m_question);
        return std::string(given.lookup->text()) + (m_compiles != before ? " compiled" : " hit");
    }

    static Key manifest_of(const Question& of) { return Key::of("hearth manifest", of.request.key().hex()); }
    // A manifest that says this of a question, as somebody else may write it.
    void forge(const Question& question, const Key& result, const std::vector<watch::Condition>& conditions,
               std::uint32_t next)
    {
        const Artifact manifest{watch::encode_manifest({.next = next, .sets = {{result, conditions}}})};
        ASSERT_TRUE(m_cache->insert(manifest_of(question), manifest, {.kind = EntryKind::manifest}).ok());
    }

    ScratchDirectory m_scratch;
    Question m_question;
    std::optional<Cache> m_cache;
    std::atomic<int> m_compiles{0};
};

}  // namespace

TEST_F(Answering, a_manifest_cannot_give_a_question_the_result_of_another)
{
    write_file(m_scratch / "a/v.h", "one");
    Question other = m_question;
    other.request = Request::of("question", "two");
    const std::vector<watch::Condition> conditions = compile(m_question.places)->depends_on->list;
    const Answer first = ask(m_question);
    forge(other, first.key, conditions, 1);
    EXPECT_NE(ask(other).key, first.key) << "nor is what is there given out";
    EXPECT_EQ(m_compiles, 2);

    m_cache->remove(first.key);
    other.request = Request::of("question", "three");
    forge(other, first.key, conditions, 1);
    EXPECT_NE(ask(other).key, first.key);
    EXPECT_FALSE(m_cache->find(first.key).hit()) << "nor is anything stored there";
    EXPECT_EQ(m_compiles, 3);
}

TEST_F(Answering, looks_no_further_than_the_first_result_while_that_answers)
{
    write_file(m_scratch / "a/v.h", "one");
    const Key first = ask(m_question).key;
    EXPECT_EQ(ask(), "one hit");
    // Another result whose conditions hold too. Whoever reads the manifest is given it.
    const Key other = Key::of("hearth result", m_question.request.key().hex(), std::uint64_t{1});
    Artifact artifact = *m_cache->find(first);
    artifact.sections.front().data = Bytes::copy_of("other");
    ASSERT_TRUE(m_cache->insert(other, std::move(artifact)).ok());
    forge(m_question, other, compile(m_question.places)->depends_on->list, 2);
    EXPECT_EQ(ask(), "one hit") << "nobody had to look";
    // What answered before is of this directory only: another cache has results of its own.
    Cache cache = open_cache(m_scratch / "elsewhere");
    for (const Key& key : {other, manifest_of(m_question)})
        ASSERT_TRUE(cache.insert(key, *m_cache->find(key)).ok());
    m_cache.emplace(std::move(cache));
    EXPECT_EQ(ask(), "other hit");
    EXPECT_EQ(m_compiles, 1);
}

TEST_F(Answering, is_a_hit_until_something_that_was_asked_changes_which_is_checked_each_time)
{
    write_file(m_scratch / "b/v.h", "one");
    EXPECT_EQ(ask(), "one compiled");
    EXPECT_EQ(ask(), "one hit");
    write_file(m_scratch / "b/unread.h", "whatever");
    EXPECT_EQ(ask(), "one hit") << "it is known to answer now";
    write_file(m_scratch / "a/v.h", "two");
    EXPECT_EQ(ask(), "two compiled");
    EXPECT_EQ(ask(), "two hit");
    std::filesystem::remove(m_scratch / "a/v.h");
    EXPECT_EQ(ask(), "one hit");
    write_file(m_scratch / "a/v.h", "two");
    EXPECT_EQ(ask(), "two hit");
    for (const char* name : {"a/v.h", "b/v.h"})
        std::filesystem::remove(m_scratch / name);
    EXPECT_EQ(ask(), "no v.h compiled");
    EXPECT_EQ(ask(), "no v.h hit");
    write_file(m_scratch / "b/v.h", "three");
    EXPECT_EQ(ask(), "three compiled");
}

TEST_F(Answering, results_of_one_question_have_keys_of_their_own)
{
    write_file(m_scratch / "a/v.h", "one");
    const Key first = ask(m_question).key;
    write_file(m_scratch / "a/v.h", "two");
    const Key second = ask(m_question).key;
    EXPECT_NE(first, second) << "what is kept by the key, as loaded modules are, must not be mixed up";
    EXPECT_EQ(ask(m_question).key, second);
    EXPECT_EQ(compilers::explain(*m_cache, m_question).key, second);
}

TEST_F(Answering, goes_on_after_a_restart_and_without_its_manifest)
{
    write_file(m_scratch / "b/v.h", "one");
    EXPECT_EQ(ask(), "one compiled");
    m_cache.reset();
    m_cache.emplace(open_cache(m_scratch / "cache"));
    EXPECT_EQ(ask(), "one hit");
    write_file(m_scratch / "b/v.h", "two");
    EXPECT_EQ(ask(), "two compiled") << "the result of the other world has the first number";
    EXPECT_EQ(ask(), "two hit");
    EXPECT_TRUE(m_cache->remove(manifest_of(m_question)));
    EXPECT_EQ(ask(), "two hit");
    EXPECT_TRUE(m_cache->remove(manifest_of(m_question)));
    write_file(m_scratch / "b/v.h", "one");
    EXPECT_EQ(ask(), "one hit");
}

TEST_F(Answering, reads_no_file_of_the_compiler_anew_where_it_is_asked_from_another_place)
{
    const std::string program = m_scratch / "compiler";
    write_file(program, "what is there");
    const auto compile_once = [&]() -> Result<Watched> {
        ++m_compiles;
        watch::Conditions conditions;
        // Whoever reads it would see that it is not this.
        conditions.list.push_back({.kind = watch::Condition::Kind::content,
                                   .spot = {watch::Spot::From::root, 0, program},
                                   .digest = base::sha256(as_bytes("what was read"))});
        conditions.stamps.of.push_back({*watch::identify(program), true});
        return Watched{Artifact{std::string_view("result")}, std::move(conditions)};
    };
    for (const char* place : {"a", "b", "other"}) {
        m_question.places.working_directory = m_scratch / place;
        ASSERT_TRUE(compilers::answer(*m_cache, m_question, compile_once).ok());
    }
    EXPECT_EQ(m_compiles, 1);
    // Another file there is another compiler.
    std::filesystem::remove(program);
    write_file(program, "another");
    ASSERT_TRUE(compilers::answer(*m_cache, m_question, compile_once).ok());
    EXPECT_EQ(m_compiles, 2);
}

TEST_F(Answering, does_not_believe_what_was_known_of_the_files_of_another_result)
{
    write_file(m_scratch / "b/v.h", "one");
    write_file(m_scratch / "other/v.h", "two");
    const auto trusting = [&](const std::string& directory) {
        Question question = m_question;
        question.places.directories = {m_scratch / directory};
        const Result<Answer> given = compilers::answer(*m_cache, question, [places = question.places] {
            Result<Watched> watched = compile(places);
            // Any later change of the file would show.
            watched->depends_on->stamps.of.push_back({*watch::identify(places.directories[0] + "/v.h"), true});
            return watched;
        });
        EXPECT_EQ(given->lookup->text(), read_file(question.places.directories[0] + "/v.h"));
    };
    trusting("b");
    ASSERT_TRUE(m_cache->remove(m_question.request));
    trusting("other");  // takes the number that is free again
    trusting("b");
    trusting("other");
}

TEST_F(Answering, what_may_not_be_kept_is_given_and_not_kept)
{
    for (int i = 0; i < 2; ++i) {
        const Result<Answer> given = compilers::answer(*m_cache, m_question, [&]() -> Result<Watched> {
            ++m_compiles;
            return Watched{Artifact{std::string_view("text")}, Error{Code::unavailable, "A file changed.", {}}};
        });
        ASSERT_TRUE(given.ok()) << given.error().message;
        EXPECT_EQ(given->lookup->text(), "text");
        EXPECT_EQ(given->why_past_the_cache, "A file changed.");
    }
    EXPECT_EQ(m_compiles, 2);
}

// Threads ask the same question in two worlds: each gets the text of its own, and each world is compiled once.
TEST_F(Answering, at_once_in_two_worlds_gives_each_its_own)
{
    write_file(m_scratch / "b/v.h", "one");
    write_file(m_scratch / "other/v.h", "another");
    Question elsewhere = m_question;
    elsewhere.places.directories[1] = m_scratch / "other";
    in_threads(8, [&](std::uint64_t i) {
        const Answer given = ask(i % 2 == 0 ? m_question : elsewhere);
        EXPECT_EQ(given.lookup->text(), i % 2 == 0 ? "one" : "another");
    });
    EXPECT_EQ(m_compiles, 2);
}

}  // namespace hearth::test
