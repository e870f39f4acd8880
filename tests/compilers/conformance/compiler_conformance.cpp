#include "compiler_conformance.hpp"

#include "hearth/libraries.hpp"
#include "support/forks.hpp"
#include "support/other_build.hpp"

#include <filesystem>
#include <unistd.h>

namespace hearth::test {

namespace fs = std::filesystem;

std::string everything_in(const Artifact& artifact)
{
    std::string all;
    for (const Section& section : artifact.sections)
        if (!section.name.starts_with("hearth."))
            all += section.name + ":" + std::to_string(section.data.size()) + ":" + std::string(section.data.text());
    return all;
}

namespace {

// A process that compiles, in `folder`.
class Started {
public:
    Started(CompilerUnderTest& compiler, const std::string& cache, const std::string& folder, const Ask& ask)
        : m_report(cache + ".report" + std::to_string(s_count++))
    {
        m_child = ::fork();
        if (m_child == 0) {
            fs::create_directories(folder);
            fs::current_path(folder);
            write_file(m_report, report_of(compiler, cache, ask));
            ::_exit(0);
        }
    }
    Started(const Started&) = delete;
    Started& operator=(const Started&) = delete;

    Seen wait()
    {
        EXPECT_TRUE(child_was_right(m_child));
        const std::string report = read_file(m_report);
        if (report.empty() || report[0] == 'E') {
            ADD_FAILURE() << report;
            return {};
        }
        const std::size_t space = report.find(' ', 1);
        return {static_cast<Outcome>(report[0] - 'a'), std::atoi(report.substr(1, space - 1).c_str()),
                report.substr(space + 1)};
    }

private:
    static std::string report_of(CompilerUnderTest& compiler, const std::string& directory, const Ask& ask)
    {
        CacheOptions options;
        options.directory = directory;
        options.maintenance = Maintenance::by_hand;
        Result<Cache> cache = Cache::open(options);
        if (!cache)
            return "E" + cache.error().message;
        const Result<Seen> seen = compiler.compile(*cache, ask);
        if (!seen)
            return "E" + seen.error().message;
        return std::string(1, static_cast<char>('a' + static_cast<int>(seen->outcome))) + std::to_string(seen->status) +
               " " + seen->output;
    }

    static inline int s_count = 0;
    const std::string m_report;  // the file that it writes
    pid_t m_child = -1;
};

}  // namespace

void CompilerConformance::SetUp()
{
    m_compiler = GetParam().make();
    if (const std::string why = m_compiler->why_not_here(); !why.empty())
        GTEST_SKIP() << why;
}

Seen CompilerConformance::compile(const Ask& ask, const std::string& folder)
{
    return Started(*m_compiler, m_scratch / "cache", m_scratch / folder, ask).wait();
}

void CompilerConformance::expect(Outcome outcome, const Ask& ask, const std::string& folder)
{
    const Seen seen = compile(ask, folder);
    EXPECT_EQ(to_string(seen.outcome), to_string(outcome));
    if (!m_compiler->repeats_itself())
        return;
    const std::string empty = m_scratch / ("empty" + std::to_string(m_empty++));
    const Seen truth = Started(*m_compiler, empty, m_scratch / folder, ask).wait();
    EXPECT_EQ(seen.status, truth.status);
    EXPECT_TRUE(seen.output == truth.output) << "the output is not that of an empty cache";
}

void CompilerConformance::write(const std::string& path, const std::string& text) const
{
    fs::create_directories(fs::path(m_scratch / path).parent_path());
    write_file(m_scratch / path, text);
}

TEST_P(CompilerConformance, the_second_of_two_processes_is_a_hit)
{
    expect(Outcome::compiled, {.number = 1});
    expect(Outcome::hit, {.number = 1});
}

TEST_P(CompilerConformance, an_edited_program_is_a_miss)
{
    expect(Outcome::compiled, {.number = 1});
    expect(Outcome::compiled, {.number = 2});
    expect(Outcome::hit, {.number = 1});
    EXPECT_NE(compile({.number = 1}).output, compile({.number = 2}).output);
}

TEST_P(CompilerConformance, an_error_is_told_again_with_its_log)
{
    const Ask ask{.number = 1, .is_broken = true};
    expect(Outcome::compiled, ask);
    expect(Outcome::hit, ask);
    const Seen seen = compile(ask);
    EXPECT_NE(seen.status, 0);
    EXPECT_FALSE(seen.output.empty());
}

TEST_P(CompilerConformance, of_two_processes_at_once_one_compiles)
{
    const Ask ask{.number = 3};
    Started one(*m_compiler, m_scratch / "cache", m_scratch / "work", ask);
    Started other(*m_compiler, m_scratch / "cache", m_scratch / "work", ask);
    const Seen first = one.wait();
    const Seen second = other.wait();
    EXPECT_EQ((first.outcome == Outcome::compiled) + (second.outcome == Outcome::compiled), 1)
        << to_string(first.outcome) << ", " << to_string(second.outcome);
    EXPECT_TRUE(first.output == second.output);
}

TEST_P(CompilerConformance, a_file_that_it_read_is_edited_and_its_tree_moves)
{
    if (m_compiler->content(1).empty())
        GTEST_SKIP() << "This compiler reads no files, or goes past the cache where it might.";
    const Ask ask{.number = 1, .reads = "read"};
    write("work/read", m_compiler->content(1));
    expect(Outcome::compiled, ask);
    write("elsewhere/deep/read", m_compiler->content(1));
    expect(Outcome::hit, ask, "elsewhere/deep");
    write("elsewhere/deep/read", m_compiler->content(2));
    expect(Outcome::compiled, ask, "elsewhere/deep");
    expect(Outcome::hit, ask);
    write("work/read", m_compiler->content(2));
    expect(Outcome::hit, ask);
}

TEST_P(CompilerConformance, a_file_that_was_missing_appears)
{
    if (m_compiler->content(1).empty())
        GTEST_SKIP() << "This compiler reads no files, or goes past the cache where it might.";
    const Ask ask{.number = 1, .reads = "read"};
    EXPECT_NE(compile(ask).status, 0);
    write("work/read", m_compiler->content(1));
    expect(Outcome::compiled, ask);
    fs::remove(m_scratch / "work/read");
    EXPECT_NE(compile(ask).status, 0);
}

TEST_P(CompilerConformance, a_variable_is_set)
{
    expect(Outcome::compiled, {.number = 1});
    for (const std::string& variable : m_compiler->variables()) {
        SCOPED_TRACE(variable);
        const std::string name = variable.substr(0, variable.find('='));
        m_environment.set(name, variable.substr(name.size() + 1));
        expect(Outcome::compiled, {.number = 1});
        expect(Outcome::hit, {.number = 1});
        m_environment.unset(name);
        expect(Outcome::hit, {.number = 1});
    }
}

TEST_P(CompilerConformance, another_build_of_the_compiler_is_another_compiler)
{
    const std::string library = m_compiler->library();
#if defined(HEARTH_HAS_TSAN)
    GTEST_SKIP() << "Reading 100 MB for the names of variables takes minutes under ThreadSanitizer.";
#endif
    if (library.empty())
        GTEST_SKIP() << "A program cannot name the file of this compiler.";
    const std::string other = other_build_of(read_file(library));
    if (other.empty())
        GTEST_SKIP() << "This library has no build-id of twenty bytes.";
    write("lib/" + fs::path(library).filename().string(), other);
    if (!m_compiler->companions().empty())
        for (const std::string& file : files_matching({fs::path(library).parent_path()}, m_compiler->companions()))
            fs::copy(file, m_scratch / "lib");
    const std::string copy = m_scratch / ("lib/" + fs::path(library).filename().string());
    EXPECT_EQ(compile({.number = 1}).outcome, Outcome::compiled);
    EXPECT_EQ(compile({.number = 1, .library = copy}).outcome, Outcome::compiled);
    EXPECT_EQ(compile({.number = 1, .library = copy}).outcome, Outcome::hit);
    EXPECT_EQ(compile({.number = 1}).outcome, Outcome::hit);
}

}  // namespace hearth::test
