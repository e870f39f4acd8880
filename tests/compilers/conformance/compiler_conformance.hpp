#pragma once

#include "hearth/cache.hpp"
#include "hearth/compiled.hpp"
#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>

// What every compiler that is answered through the cache is held to. A compiler joins with one file, which implements
// CompilerUnderTest and instantiates the suite:
//
//   INSTANTIATE_TEST_SUITE_P(name, CompilerConformance, testing::Values(CompilerCase{"name", [] { ... }}), case_name);

namespace hearth::test {

// What to compile. Every program is another one for another number.
struct Ask {
    int number = 0;
    bool is_broken = false;  // it has an error
    std::string reads{};     // the file that it reads, in the working directory; empty: it reads none
    std::string library{};   // the compiler to use; empty: the first that is found
};

struct Seen {
    Outcome outcome = Outcome::hit;
    int status = 0;
    std::string output;  // all that the compiler gave, with its log
};

// One compiler. Every compile is done in a process of its own, so nothing is remembered between two calls.
class CompilerUnderTest {
public:
    virtual ~CompilerUnderTest() = default;

    // Why it cannot be tested on this machine; empty: it can. Must load nothing.
    virtual std::string why_not_here() = 0;
    virtual Result<Seen> compile(Cache& cache, const Ask& ask) = 0;

    // Whether two compiles of one program give the same bytes.
    virtual bool repeats_itself() { return true; }
    // What the file of Ask::reads may hold; another number, another result. Empty: this compiler reads no files.
    virtual std::string content(int /*number*/) { return {}; }
    // Variables, "NAME=value", that it asks for, and that do not make compiles fail.
    virtual std::vector<std::string> variables() { return {}; }
    // The file of the compiler. Empty: there is none that a program could name.
    virtual std::string library() { return {}; }
    // Files that lie beside it.
    virtual std::string companions() { return {}; }
};

struct CompilerCase {
    std::string name;
    std::function<std::unique_ptr<CompilerUnderTest>()> make;
};

inline void PrintTo(const CompilerCase& one, std::ostream* out)
{
    *out << one.name;
}

inline std::string case_name(const testing::TestParamInfo<CompilerCase>& info)
{
    return info.param.name;
}

// Every section of an artifact but those that the cache itself adds.
std::string everything_in(const Artifact& artifact);

class CompilerConformance : public testing::TestWithParam<CompilerCase> {
protected:
    void SetUp() override;

    // Compiles in a process of its own, in this folder of the scratch directory.
    Seen compile(const Ask& ask, const std::string& folder = "work");
    // Expects this outcome, and what the compiler gives with an empty cache.
    void expect(Outcome outcome, const Ask& ask, const std::string& folder = "work");
    void write(const std::string& path, const std::string& text) const;

    IsolatedEnvironment m_environment;
    ScratchDirectory m_scratch;
    std::unique_ptr<CompilerUnderTest> m_compiler;

private:
    int m_empty = 0;
};

}  // namespace hearth::test
