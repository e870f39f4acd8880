#include "compilers/command/readers.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

command::ReadUnseen of_shell(const std::string& text)
{
    return command::read_unseen({{"/usr/bin/dash", {"sh", "-c", text}}}, {});
}

bool names(const command::ReadUnseen& unseen, const std::string& name)
{
    return std::ranges::find(unseen.names, name) != unseen.names.end();
}

}  // namespace

TEST(Readers, compilers_ask_by_name)
{
    const command::ReadUnseen unseen = command::read_unseen({{"/usr/bin/aarch64-linux-gnu-g++-12", {}},
                                                             {"/usr/lib/gcc/12/cc1plus", {}},
                                                             {"/usr/bin/x86_64-linux-gnu-as", {}}},
                                                            {});
    EXPECT_TRUE(unseen.names.empty());
    EXPECT_FALSE(unseen.all);
}

TEST(Readers, a_shells_text_names_its_variables)
{
    const command::ReadUnseen unseen = of_shell("\"$CICC_PATH/cicc\" ${MORE:-x} --dir=set/export \"a b\"");
    EXPECT_FALSE(unseen.all);
    for (const char* name : {"CICC_PATH", "MORE", "HOME", "IFS"})
        EXPECT_TRUE(names(unseen, name)) << name;
    EXPECT_FALSE(names(unseen, "HOME_OF_OTHERS"));
    EXPECT_FALSE(names(unseen, "PATH")) << "what it leads to is seen";
}

TEST(Readers, any_variable_counts_where_a_text_may_reach_all)
{
    for (const char* text : {"eval x", "export", "x; set", ". ./file", "a|source f", "echo ${!NAME}", "(set)"})
        EXPECT_TRUE(of_shell(text).all) << text;
    EXPECT_TRUE(command::read_unseen({{"/usr/bin/dash", {"sh", "script"}}}, {}).all);
    EXPECT_TRUE(command::read_unseen({{"/usr/bin/python3", {"python3", "wrapper.py"}}}, {}).all);
}

}  // namespace hearth::test
