#include "build.hpp"
#include "generator.hpp"
#include "support/isolated_environment.hpp"
#include "support/scale.hpp"
#include "support/scratch_directory.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>

namespace demo {
namespace {

using namespace hearth::literals;

// A program in a folder, and a cache for it.
class Incremental : public testing::Test {
protected:
    Incremental()
    {
        std::filesystem::create_directory(m_scratch / "sources");
        for (const auto& [file, text] : generate({.modules = 40, .seed = 5}))
            write(file, text);
        open();
    }

    void open()
    {
        m_cache.emplace(
            64_MiB, m_scratch / "cache", [this](std::string_view file) { return m_sources.request(file); },
            hearth::device::Backend::host);
    }
    void write(const std::string& file, const std::string& text)
    {
        m_text[file] = text;
        hearth::test::write_file(m_scratch / ("sources/" + file), text);
    }
    // With the cache; checked against a build without one.
    BuildReport built()
    {
        BuildReport report = build(m_sources, &*m_cache).value();
        EXPECT_EQ(difference(report, build(m_sources, nullptr).value()), "");
        return report;
    }
    // The file itself and those that import it, in order.
    std::vector<std::string> with_importers(const std::string& file)
    {
        std::vector<std::string> files = m_sources.importers_of(file);
        files.push_back(file);
        std::sort(files.begin(), files.end());
        return files;
    }

    using Files = std::vector<std::string>;
    hearth::test::IsolatedEnvironment m_environment;
    hearth::test::ScratchDirectory m_scratch;
    Sources m_sources{m_scratch / "sources"};
    std::optional<IrCache> m_cache;
    std::map<std::string, std::string> m_text;
    const std::string m_edited = "part_012.eph";
};

TEST_F(Incremental, nothing_is_compiled_twice)
{
    EXPECT_EQ(built().compiled.size(), 40U);
    const BuildReport again = built();
    EXPECT_EQ(again.compiled, Files{});
    EXPECT_EQ(again.from_vram, 40U);
    open();
    const BuildReport fresh = built();
    EXPECT_EQ(fresh.compiled, Files{});
    EXPECT_EQ(fresh.from_disk, 40U);
}

TEST_F(Incremental, an_edited_body_recompiles_its_module_alone)
{
    const std::int64_t before = built().result;
    write(m_edited, with_edited_body(m_text[m_edited], 99));
    const BuildReport after = built();
    EXPECT_EQ(after.compiled, Files{m_edited});
    EXPECT_NE(after.result, before);
}

TEST_F(Incremental, an_edited_signature_recompiles_its_module_and_its_importers)
{
    built();
    const Files expected = with_importers(m_edited);
    ASSERT_GT(expected.size(), 1U);
    write(m_edited, with_edited_signature(m_text[m_edited]).value());
    EXPECT_EQ(built().compiled, expected);
    write(m_edited, with_edited_signature(m_text[m_edited]).value());
    EXPECT_EQ(built().compiled, Files{}) << "the edit was taken back";
}

TEST_F(Incremental, a_new_export_recompiles_the_importers_and_a_new_private_function_does_not)
{
    built();
    const std::string before = m_text[m_edited];
    write(m_edited, before + "fn more() -> int { return 1; }\n");
    EXPECT_EQ(built().compiled, Files{m_edited});
    write(m_edited, before + "export fn more() -> int { return 1; }\n");
    EXPECT_EQ(built().compiled, with_importers(m_edited));
}

TEST_F(Incremental, the_content_decides_and_not_the_file)
{
    built();
    write("copy.eph", m_text[m_edited]);
    EXPECT_EQ(built().compiled, Files{});
    std::filesystem::last_write_time(m_scratch / ("sources/" + m_edited),
                                     std::filesystem::file_time_type::clock::now());
    EXPECT_EQ(built().compiled, Files{});
}

TEST_F(Incremental, a_compile_error_is_said_and_leaves_the_cache_as_it_was)
{
    built();
    const std::string before = m_text[m_edited];
    write(m_edited, before + "fn wrong() -> int { return true; }\n");
    const auto lines = std::count(before.begin(), before.end(), '\n');
    for (int attempt = 0; attempt < 2; ++attempt) {
        const auto report = build(m_sources, &*m_cache);
        ASSERT_FALSE(report);
        EXPECT_EQ(report.error().message,
                  m_edited + ":" + std::to_string(lines + 1) + ":28: error: This is a bool, where an int is wanted.");
    }
    write(m_edited, before);
    EXPECT_EQ(built().compiled, Files{});
}

TEST_F(Incremental, random_edits_give_what_a_build_from_scratch_gives)
{
    std::mt19937_64 random(hearth::test::seed());
    built();
    const std::map<std::string, std::string> original = m_text;
    for (std::uint64_t edit = 0; edit < hearth::test::scaled(30); ++edit) {
        const std::string file =
            std::next(m_text.begin(), static_cast<std::ptrdiff_t>(random() % m_text.size()))->first;
        std::string text = m_text[file];
        switch (random() % 6) {
        case 0:
        case 1:
            text = with_edited_body(text, static_cast<std::uint32_t>(random() % 1000));
            break;
        case 2:
            text = with_edited_signature(text).value_or(text);
            break;
        case 3:
            text = "// " + std::to_string(random()) + "\n" + text;
            break;
        case 4:
            text += "export fn extra_" + std::to_string(edit) + "(x: float) -> float { return x; }\n";
            break;
        default:
            text = original.at(file);
            break;
        }
        write(file, text);
        if (edit % 7 == 6)
            open();  // a fresh process, as far as the cache can tell
        const BuildReport report = built();
        const Files allowed = with_importers(file);
        EXPECT_TRUE(std::includes(allowed.begin(), allowed.end(), report.compiled.begin(), report.compiled.end()))
            << "edit " << edit << " of " << file << " compiled " << report.compiled.size();
        EXPECT_EQ(report.compiled.size() + report.from_vram + report.from_disk, m_text.size());
    }
}

}  // namespace
}  // namespace demo
