#include "compilers/common/known_texts.hpp"

#include "hearth/admin.hpp"
#include "support/open_cache.hpp"
#include "support/scratch_directory.hpp"
#include "watch/source_file.hpp"

#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using compilers::KnownTexts;
using compilers::TextFacts;

class KnowingTexts : public testing::Test {
protected:
    // A file that was read, as one that nobody has changed for long.
    watch::ReadText read(const std::string& name, const std::string& text) const
    {
        const std::string path = m_scratch / name;
        std::ofstream(path) << text;
        return {path, text, base::sha256(as_bytes(text)), {*watch::identify(path), true}};
    }

    // What one process learns.
    void learn(const std::vector<watch::ReadText>& texts)
    {
        KnownTexts known(&m_cache, "/");
        for (const watch::ReadText& text : texts) {
            static_cast<void>(known.digest_of(text.path, text.stamp.file));
            known.learn(text, *known.facts_of(text));
        }
        known.keep();
    }

    // What the next one knows.
    std::optional<base::Sha256> known(const watch::ReadText& text)
    {
        return KnownTexts(&m_cache, "/").digest_of(text.path, text.stamp.file);
    }

    ScratchDirectory m_scratch;
    Cache m_cache = open_cache(m_scratch / "cache");
};

TEST_F(KnowingTexts, what_one_process_learns_the_next_one_knows_by_a_path_from_its_working_directory_too)
{
    const watch::ReadText text = read("a.h", "int of_a;");
    EXPECT_FALSE(known(text));
    learn({text});
    KnownTexts next(&m_cache, "/");
    EXPECT_EQ(next.digest_of(text.path, text.stamp.file), text.digest);
    watch::ReadText unread = text;
    unread.text.clear();
    EXPECT_TRUE(next.facts_of(unread)->uses(TextFacts::hash("of_a")));
    EXPECT_EQ(KnownTexts(&m_cache, m_scratch.path()).digest_of("a.h", text.stamp.file), text.digest);
}

TEST_F(KnowingTexts, a_file_that_was_written_since_is_not_known)
{
    const watch::ReadText before = read("a.h", "int a;");
    learn({before});
    const watch::ReadText after = read("a.h", "int other;");
    EXPECT_FALSE(known(after));
    learn({after});
    EXPECT_EQ(known(after), after.digest);
    EXPECT_FALSE(known(before));
}

TEST_F(KnowingTexts, a_file_whose_changes_might_not_show_is_not_learnt)
{
    watch::ReadText text = read("a.h", "int a;");
    text.stamp.settled = false;
    learn({text});
    EXPECT_FALSE(known(text));
}

TEST_F(KnowingTexts, files_of_a_directory_come_one_after_the_other)
{
    const watch::ReadText a = read("a.h", "int a;");
    const watch::ReadText b = read("b.h", "int b;");
    learn({a});
    learn({b});
    EXPECT_EQ(known(a), a.digest);
    EXPECT_EQ(known(b), b.digest);
}

TEST_F(KnowingTexts, little_news_of_a_large_directory_is_not_worth_writing_it_again)
{
    std::vector<watch::ReadText> many;
    for (int i = 0; i < 100; ++i)
        many.push_back(read(fmt::format("{}.h", i), fmt::format("int of_{};", i)));
    learn(many);
    const watch::ReadText more = read("more.h", "int more;");
    learn({more});
    EXPECT_EQ(known(many.back()), many.back().digest);
    EXPECT_FALSE(known(more));
}

// An archive, a bundle or a server may hold an entry under any key, and only this machine knows its own files.
TEST_F(KnowingTexts, what_another_machine_says_of_our_files_is_not_known)
{
    const watch::ReadText text = read("a.h", "int a;");
    learn({text});
    std::optional<Key> key;
    admin::list(m_cache, [&](const EntryRow& row) {
        key = row.key;
        return false;
    });
    ASSERT_TRUE(key);
    Artifact foreign = *m_cache.peek(*key);
    foreign.metadata.compiler = "nvrtc";  // an entry that says "hearth" is not taken from elsewhere
    ASSERT_TRUE(m_cache.insert(*key, std::move(foreign)).ok());
    EXPECT_FALSE(known(text));
    learn({text});
    EXPECT_EQ(known(text), text.digest) << "and it does not stand in the way";
}

TEST_F(KnowingTexts, nothing_is_known_without_a_cache)
{
    const watch::ReadText text = read("a.h", "int a;");
    KnownTexts none(nullptr, "/");
    none.learn(text, *none.facts_of(text));
    none.keep();
    EXPECT_FALSE(none.digest_of(text.path, text.stamp.file));
}

}  // namespace

}  // namespace hearth::test
