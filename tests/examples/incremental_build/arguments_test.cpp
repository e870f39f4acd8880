#include "arguments.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace demo {
namespace {

hearth::Result<Arguments> parsed(const std::vector<const char*>& words)
{
    return parse_arguments(words);
}

TEST(Arguments, without_any_the_defaults_count)
{
    const Arguments arguments = parsed({}).value();
    EXPECT_EQ(arguments.modules, 200U);
    EXPECT_EQ(arguments.backend, hearth::device::Backend::automatic);
    EXPECT_FALSE(arguments.json);
}

TEST(Arguments, every_option_is_taken)
{
    const Arguments arguments =
        parsed({"--modules", "10", "--seed", "3", "--directory", "d", "--backend", "opencl", "--json", "--again"})
            .value();
    EXPECT_EQ(arguments.modules, 10U);
    EXPECT_EQ(arguments.seed, 3U);
    EXPECT_EQ(arguments.directory, "d");
    EXPECT_EQ(arguments.backend, hearth::device::Backend::opencl);
    EXPECT_TRUE(arguments.json);
    EXPECT_TRUE(arguments.again);
    EXPECT_EQ(parsed({"--backend", "host", "--backend", "auto"})->backend, hearth::device::Backend::automatic);
}

TEST(Arguments, what_is_wrong_is_said)
{
    const auto problem = [](const std::vector<const char*>& words) { return parsed(words).error().message; };
    EXPECT_EQ(problem({"--modules", "1"}), "--modules takes a number from 2 to 10000, not \"1\".");
    EXPECT_EQ(problem({"--modules", "12x"}), "--modules takes a number from 2 to 10000, not \"12x\".");
    EXPECT_EQ(problem({"--seed", "-1"}), "--seed takes a number, not \"-1\".");
    EXPECT_EQ(problem({"--seed"}), "--seed needs a value behind it.");
    EXPECT_EQ(problem({"--backend", "metal"}), "--backend takes auto, cuda, opencl, webgpu or host, not \"metal\".");
    EXPECT_EQ(problem({"--directory", ""}), "--directory takes the path of a directory, not nothing.");
    EXPECT_EQ(problem({"build"}), "\"build\" is no option of this program.");
    EXPECT_EQ(problem({"--again"}), "--again needs --directory: it builds what lies there.");
}

}  // namespace
}  // namespace demo
