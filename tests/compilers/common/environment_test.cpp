// What a compiler may ask of its environment, told without copying the environment for every hit.

#include "compilers/common/depends_on.hpp"
#include "support/isolated_environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

bool has(const compilers::Environment& environment, const std::string& variable)
{
    return std::ranges::find(*environment, variable) != environment->end();
}

}  // namespace

TEST(EnvironmentNow, is_the_same_object_until_a_variable_changes)
{
    IsolatedEnvironment environment;
    environment.set("SOME_VARIABLE", "one");
    const compilers::Environment before = compilers::environment_now();
    EXPECT_TRUE(has(before, "SOME_VARIABLE=one"));
    EXPECT_EQ(compilers::environment_now(), before);
    environment.set("SOME_VARIABLE", "two");
    EXPECT_TRUE(has(compilers::environment_now(), "SOME_VARIABLE=two"));
    environment.unset("SOME_VARIABLE");
    EXPECT_FALSE(has(compilers::environment_now(), "SOME_VARIABLE=two"));
    EXPECT_TRUE(has(before, "SOME_VARIABLE=one")) << "whoever has one keeps it";
}

TEST(EnvironmentNow, sees_what_a_program_writes_into_a_variable_of_its_own)
{
    static char variable[] = "OWN_VARIABLE=one";
    ASSERT_EQ(::putenv(variable), 0);
    EXPECT_TRUE(has(compilers::environment_now(), "OWN_VARIABLE=one"));
    variable[sizeof variable - 2] = 'x';  // at the same address, and as long
    EXPECT_TRUE(has(compilers::environment_now(), "OWN_VARIABLE=onx"));
    variable[sizeof variable - 2] = '\0';
    EXPECT_TRUE(has(compilers::environment_now(), "OWN_VARIABLE=on"));
    ASSERT_EQ(::unsetenv("OWN_VARIABLE"), 0);
}

TEST(EnvironmentNow, leaves_out_what_is_there_for_everybody)
{
    IsolatedEnvironment environment;
    for (const char* name : {"PLAIN", "_", "OMP_NUM_THREADS", "HEARTH_SOMETHING"})
        environment.set(name, "1");
    for (const std::string& variable : *compilers::environment_now())
        for (const char* name : {"PLAIN=", "_=", "OMP_NUM_THREADS=", "HEARTH_SOMETHING="})
            EXPECT_FALSE(variable.starts_with(name)) << variable;
}

}  // namespace hearth::test
