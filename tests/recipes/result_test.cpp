#include "recipes/result.hpp"

#include "format/entry.hpp"
#include "support/open_cache.hpp"
#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

namespace {

// What only a program itself can compile: its recipe is its result.
class RecordedResults : public testing::Test {
protected:
    static Artifact compiled(std::string_view code)
    {
        Artifact made;
        made.sections = {{"code", Bytes::copy_of(as_bytes(code))}, {"log", Bytes::copy_of(as_bytes("1 warning"))}};
        made.metadata = {.label = "scale", .compiler = "triton"};
        made.cost = std::chrono::milliseconds(225);
        return made;
    }

    Cache open(const std::string& name) const { return open_cache(m_scratch / name); }

    void record(const Key& key, const Artifact& artifact) { recipes::record_result({path(), {}}, key, artifact); }

    // Of the file's first recipe.
    recipes::BuildResult build(Cache& cache)
    {
        recipes::Builder builder(cache, *recipes::read(path()), {.scratch = m_scratch / "build"});
        return builder.build(0, "");
    }

    std::string path() const { return m_scratch / "r.recipes"; }

    const Key m_key = Key::of("a framework", 1);

private:
    ScratchDirectory m_scratch;
};

}  // namespace

TEST_F(RecordedResults, are_built_where_nothing_can_be_compiled)
{
    record(m_key, compiled("binary"));
    record(m_key, compiled("binary"));
    const Result<recipes::Recipes> all = recipes::read(path());
    ASSERT_TRUE(all.ok()) << all.error().message;
    ASSERT_EQ(all->list().size(), 1U);
    EXPECT_EQ(all->list()[0].kind, recipes::Kind::result);
    EXPECT_EQ(all->list()[0].name, "scale");
    EXPECT_EQ(all->list()[0].compiler, "triton");
    EXPECT_EQ(all->list()[0].uses, 2U);

    Cache cache = open("elsewhere");
    EXPECT_EQ(build(cache).outcome, recipes::Outcome::built);
    EXPECT_EQ(build(cache).outcome, recipes::Outcome::already_there);
    const Lookup found = cache.find(m_key);
    ASSERT_TRUE(found);
    EXPECT_EQ(as_text(found->bytes("code")), "binary");
    EXPECT_EQ(as_text(found->bytes("log")), "1 warning");
    EXPECT_EQ(found->metadata.label, "scale");
    EXPECT_EQ(found->cost, std::chrono::milliseconds(225));
}

TEST_F(RecordedResults, that_are_another_keys_or_not_in_the_file_are_not_built)
{
    const Bytes foreign = *format::encode_entry(Key::of("a framework", 2), compiled("another"));
    format::Recipe recipe;
    recipe.kind = format::RecipeKind::result;
    recipe.key = m_key;
    recipe.source = base::sha256(foreign);
    write_file(path(), format::encode_content(recipe.source, foreign, 3) + format::encode_recipe(recipe));
    Cache cache = open("elsewhere");
    EXPECT_EQ(build(cache).outcome, recipes::Outcome::not_buildable);
    EXPECT_FALSE(cache.find(m_key));
    write_file(path(), format::encode_recipe(recipe));
    const recipes::BuildResult result = build(cache);
    EXPECT_EQ(result.outcome, recipes::Outcome::not_buildable);
    EXPECT_NE(result.reason.find("Record it again."), std::string::npos) << result.reason;
}

}  // namespace hearth::test
