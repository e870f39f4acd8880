#include "compilers/command/fixed_paths.hpp"

#include "support/isolated_environment.hpp"
#include "support/scratch_directory.hpp"

#include <filesystem>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using Words = std::vector<std::string>;

Words options_for(const watch::Places& places)
{
    return command::options_of(command::fixed_paths(places));
}

TEST(FixedPaths, name_the_working_directory_and_tell_the_others_by_their_numbers)
{
    EXPECT_EQ(options_for({"/u/build", "/u/src", {"/v/a", "b", "/v/c/"}}),
              (Words{"-ffile-prefix-map=/u/build=.", "-ffile-prefix-map=/u/src=/hearth/source",
                     "-ffile-prefix-map=/v/a=/hearth/include/0", "-ffile-prefix-map=/v/c=/hearth/include/2"}));
}

TEST(FixedPaths, are_the_same_for_calls_whose_places_lie_alike)
{
    const watch::Places one{"/u/1/build", "/u/1", {"/u/1/inc"}};
    const watch::Places other{"/other/build", "/other", {"/other/inc"}};
    const watch::Places unlike{"/other/out", "/other", {"/other/inc"}};
    const auto names = [](const watch::Places& places) {
        return command::names_of(places, command::fixed_paths(places));
    };
    EXPECT_EQ(names(one), names(other));
    EXPECT_NE(names(one), names(unlike));
}

// Which of two that fit is taken differs between compilers.
TEST(FixedPaths, never_lie_below_each_other_and_are_none_where_a_compiler_would_misread_one)
{
    EXPECT_EQ(options_for({"/u", "/u/src", {"/u/inc", "/unlike"}}),
              (Words{"-ffile-prefix-map=/u=.", "-ffile-prefix-map=/unlike=/hearth/include/1"}));
    EXPECT_EQ(options_for({"/u/build", "/u", {"/u/inc"}}), (Words{"-ffile-prefix-map=/u=/hearth/source"}));
    EXPECT_TRUE(options_for({"/u", "/a=b", {}}).empty());
}

// Programs that start a compiler in another directory often leave PWD as it was.
TEST(FixedPaths, take_the_working_directory_from_pwd_only_where_it_leads_there)
{
    IsolatedEnvironment environment;
    const ScratchDirectory scratch;
    std::filesystem::create_directory(scratch / "real");
    std::filesystem::create_directory_symlink("real", scratch / "link");
    environment.set("PWD", scratch.path());
    EXPECT_EQ(options_for({scratch / "real", "", {}}), (Words{"-ffile-prefix-map=" + (scratch / "real") + "=."}));
    environment.set("PWD", scratch / "link");
    EXPECT_EQ(options_for({scratch / "real", "", {}}), (Words{"-ffile-prefix-map=" + (scratch / "real") + "=.",
                                                              "-ffile-prefix-map=" + (scratch / "link") + "=."}));
}

TEST(FixedPaths, are_looked_for_in_every_form_that_a_compiler_may_write)
{
    const watch::Places places{"/u/build", "/u/src", {"../inc", "/v/x/../a"}};
    for (const char* text : {"at /u/build.", "/u/src/k.cpp", "/u/inc/h.h", "/v/a/h.h", "/v/x/../a/h.h"})
        EXPECT_TRUE(command::holds_place(text, places)) << text;
    for (const char* text : {"", "./k.cpp", "/hearth/source/k.cpp", "../inc/h.h", "/usr/include/stdio.h"})
        EXPECT_FALSE(command::holds_place(text, places)) << text;
}

}  // namespace

}  // namespace hearth::test
