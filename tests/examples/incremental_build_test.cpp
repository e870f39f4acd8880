#include "build.hpp"
#include "generator.hpp"
#include "ir.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>

namespace eph {
namespace {

using Names = std::vector<std::string>;

// A generated program in a folder, and a cache for it.
class IncrementalBuild : public testing::Test {
protected:
    IncrementalBuild()
    {
        std::filesystem::create_directory(m_sources);
        for (const auto& [module, text] : m_texts)
            write(module, text);
    }
    void write(const std::string& module, const std::string& text)
    {
        hearth::test::write_file(m_sources + "/" + module + ".eph", text);
    }
    // With the cache; a build without one has to give the same.
    Build built()
    {
        const Build build = eph::build(m_sources, &*m_cache);
        const Build scratch = eph::build(m_sources, nullptr);
        EXPECT_TRUE(build.ir == scratch.ir) << "byte for byte";
        EXPECT_EQ(build.result, scratch.result);
        return build;
    }

    hearth::test::IsolatedEnvironment m_environment;
    hearth::test::ScratchDirectory m_scratch;
    const std::string m_sources = m_scratch / "sources";
    const std::map<std::string, std::string> m_texts = generate(50);
    const std::string m_text = m_texts.at("part_007");
    std::optional<hearth::Cache> m_cache = open_cache(m_scratch / "cache", hearth::device::Backend::host);
};

TEST_F(IncrementalBuild, nothing_is_compiled_twice)
{
    EXPECT_EQ(built().compiled.size(), 50U);
    EXPECT_EQ(built().from_vram, 50U);
    m_cache.emplace(open_cache(m_scratch / "cache", hearth::device::Backend::host));  // as another process would
    EXPECT_EQ(built().from_disk, 50U);
    EXPECT_EQ(built().from_vram, 50U) << "the first hit brings it into device memory";
    write("copy", m_text);
    EXPECT_EQ(built().compiled, Names{}) << "the content decides, not the file";
}

TEST_F(IncrementalBuild, an_edited_body_recompiles_its_module_alone)
{
    const std::uint64_t before = built().result;
    write("part_007", edited(m_text, k_body, 1000));
    const Build after = built();
    EXPECT_EQ(after.compiled, Names{"part_007"});
    EXPECT_NE(after.result, before);
    write("part_007", m_text + "private x = x\n");
    EXPECT_EQ(built().compiled, Names{"part_007"});
}

TEST_F(IncrementalBuild, an_edited_interface_recompiles_its_module_and_its_importers)
{
    built();
    const Names all{"part_007", "part_040", "part_047"};
    write("part_007", edited(m_text, k_interface, 1000));
    EXPECT_EQ(built().compiled, all);
    write("part_007", m_text + "export more x = x\n");
    EXPECT_EQ(built().compiled, all);
    write("part_007", m_text);
    EXPECT_EQ(built().compiled, Names{}) << "the edits were taken back";
}

TEST_F(IncrementalBuild, a_lease_gives_the_ir_where_it_lies)
{
    const std::string ir(built().ir.at("part_007").text());
    const auto lease = m_cache->vram().lease(read_units(m_sources).at("part_007").request());
    EXPECT_EQ(std::string_view(static_cast<const char*>(lease.pointer()), lease.size()), ir);
}

TEST_F(IncrementalBuild, an_error_is_a_sentence_and_leaves_the_cache_as_it_was)
{
    built();
    const std::map<std::string, std::string> errors{
        {"# a comment\nf x = y", "part_007.eph:2: There is nothing named y here."},
        {"f x = x +", "part_007.eph:1: + takes 2 values, and too few stand before it."},
        {"f x = x x", "part_007.eph:1: f gives 2 values, where one is wanted."},
        {"f = 1\nf = 2", "part_007.eph:2: There is a function f above."},
        {"f x y z = x", "part_007.eph:1: f has more than two parameters."},
        {"f x", "part_007.eph:1: This is neither \"import NAME\" nor \"[export] NAME PARAMETERS = WORDS\"."},
        {"import main\nexport salt = 1\nexport value x = main.main",
         "The program does not end: its modules call each other in a circle."},
    };
    for (const auto& [text, error] : errors) {
        write("part_007", text);
        try {
            eph::build(m_sources, &*m_cache);
            ADD_FAILURE() << text << " is built";
        } catch (const Problem& problem) {
            EXPECT_EQ(problem.what(), error);
        }
    }
    write("part_007", m_text);
    EXPECT_EQ(built().compiled, Names{});
}

TEST(Compiler, folds_what_is_known_and_computes_nothing_twice)
{
    const auto compiled = [](const std::string& text) {
        return link({{"main", compile({parse("main.eph", text), {}}).value()}});
    };
    const auto sums = [](const Code& code) {
        return std::count_if(code.begin(), code.end(), [](const Operation& each) { return each.op == Op::add; });
    };
    const Code known = compiled("less x y = x y -\ntwice x = x x +\nexport main = 9 4 less twice 2 3 + *");
    EXPECT_EQ(run(known), 50U);
    EXPECT_EQ(sums(known), 0);
    const Code equal = compiled("next x = x 1 +\nexport square x = x next next x 2 + *\nexport main = 0");
    EXPECT_EQ(run(equal, 3, {5, 0}), 49U);
    EXPECT_EQ(sums(equal), 2) << "x + 1 and x + 2";
}

}  // namespace
}  // namespace eph
