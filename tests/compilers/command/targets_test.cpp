#include "compilers/command/targets.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

using command::target_of;

TEST(Targets, are_those_that_code_is_made_for)
{
    EXPECT_EQ(target_of({"nvcc", "-arch=sm_90", "-c", "k.cu"}), "sm_90");
    EXPECT_EQ(target_of({"nvcc", "-arch", "sm_90a", "-c", "k.cu"}), "sm_90a");
    EXPECT_EQ(target_of({"ptxas", "--gpu-name", "sm_80", "k.ptx"}), "sm_80");
    EXPECT_EQ(target_of({"nvcc", "-gencode", "arch=compute_80,code=sm_80",
                         "-gencode=arch=compute_90,code=[sm_90,compute_90]"}),
              "sm_80,sm_90,compute_90");
    EXPECT_EQ(
        target_of({"nvcc", "--generate-code=arch=compute_80,code=sm_80", "-gencode", "arch=compute_80,code=sm_80"}),
        "sm_80");
}

TEST(Targets, of_a_host_compiler_are_none)
{
    EXPECT_EQ(target_of({"g++", "-c", "sm_90.cpp"}), "");
    EXPECT_EQ(target_of({"clang++", "-arch", "arm64", "-c", "a.cpp"}), "");
    EXPECT_EQ(target_of({"nvcc", "-arch"}), "");
    EXPECT_EQ(target_of({}), "");
}

}  // namespace hearth::test
