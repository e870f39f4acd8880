#include "compilers/nvrtc/option_facts.hpp"

#include "hearth/nvrtc.hpp"

#include <gtest/gtest.h>

namespace hearth::nvrtc {

namespace {

using Strings = std::vector<std::string>;

TEST(NvrtcOptions, include_directories_are_found_however_they_are_given_and_stay_out_of_the_key)
{
    const Strings options{"-I/a", "-I", "/b", "--include-path=/c", "--include-path", "/d", "-I=/e", "-std=c++20"};
    const OptionFacts facts = read_options(options);
    EXPECT_EQ(facts.include_directories, (Strings{"/a", "/b", "/c", "/d", "/e"}));
    EXPECT_EQ(facts.keyed, Strings{"-std=c++20"});
    EXPECT_EQ(read_options(Strings{"-Xptxas", "-v", "--ptxas-options=-O1", "-Ia"}).keyed,
              (Strings{"-Xptxas", "-v", "--ptxas-options=-O1"}))
        << "what is for ptxas stays as it stands";
}

TEST(NvrtcOptions, include_directories_that_nvrtc_may_read_otherwise_are_kept_as_they_stand)
{
    for (const Strings& odd : {Strings{"-I"}, Strings{"-I", ""}, Strings{"-I="}, Strings{"-I /f"}, Strings{"-Ia\n"},
                               Strings{"-I-"}, Strings{"--include-path a"}, Strings{"--include-path= a"}}) {
        Strings options{"-I/a"};
        options.insert(options.end(), odd.begin(), odd.end());
        EXPECT_EQ(read_options(options).keyed, options);
        EXPECT_TRUE(read_options(options).include_directories.empty());
    }
}

TEST(NvrtcOptions, a_value_that_stands_alone_stays_with_its_option)
{
    EXPECT_EQ(read_options(Strings{"-D", "D"}).keyed, (Strings{"-D", "D"}));
    EXPECT_EQ(read_options(Strings{"-D"}).keyed, Strings{"-D"});
    EXPECT_EQ(read_options(Strings{"-arch", "sm_90", "-G"}).keyed, (Strings{"-arch", "sm_90", "-G"}));
    EXPECT_EQ(read_options(Strings{"-arch", "sm_90"}).target, "sm_90");
    EXPECT_EQ(read_options(Strings{"-arch=sm_80", "--gpu-architecture=sm_90a"}).target, "sm_90a");
}

TEST(NvrtcOptions, debug_information_and_intermediate_code_make_paths_matter)
{
    for (const char* option : {"-lineinfo", "--generate-line-info", "-G", "--device-debug", "-dlto", "--dlink-time-opt",
                               "--optix-ir", "--options-file=x", "-optf"})
        EXPECT_TRUE(read_options(Strings{option}).paths_matter) << option;
    EXPECT_FALSE(read_options(Strings{"-rdc=true", "-Gx"}).paths_matter);
}

TEST(NvrtcOptions, options_with_side_effects_bypass)
{
    for (const char* option :
         {"--create-pch=x", "--use-pch=x", "--pch-dir=x", "--time=x", "-time=x", "--fdevice-time-trace=x"})
        EXPECT_NE(read_options(Strings{"-std=c++20", option}).why_past_the_cache, "") << option;
    for (const char* option : {"-std=c++17", "--use_fast_math", "-DTIME=1", "--timeless", "-I/pch"})
        EXPECT_EQ(read_options(Strings{option}).why_past_the_cache, "") << option;
}

TEST(NvrtcOptions, include_directories_move_and_the_key_stays)
{
    const Strings options{"-I/a", "-D", "-I/no", "-I", "/b", "--include-path=c", "-arch", "sm_90"};
    const Strings moved = with_directories(options, [](const std::string& directory) { return "/root" + directory; });
    EXPECT_EQ(moved, (Strings{"-I/root/a", "-D", "-I/no", "-I/root/b", "-I/rootc", "-arch", "sm_90"}));
    EXPECT_EQ(read_options(moved).keyed, read_options(options).keyed);
}

TEST(NvrtcOptions, another_target_stands_where_theirs_stood)
{
    EXPECT_EQ(with_target(Strings{"-arch=sm_90", "-G"}, "sm_80"), (Strings{"-arch=sm_80", "-G"}));
    EXPECT_EQ(with_target(Strings{"--gpu-architecture", "sm_90a "}, "sm_80"),
              (Strings{"--gpu-architecture", "sm_80 "}));
    EXPECT_EQ(with_target(Strings{"-arch sm_90"}, "sm_100a"), Strings{"-arch sm_100a"});
    EXPECT_EQ(with_target(Strings{"-arch=sm_80", "-DA", "-arch=sm_90"}, "sm_75"),
              (Strings{"-arch=sm_80", "-DA", "-arch=sm_75"}))
        << "the last counts";
    EXPECT_EQ(with_target(Strings{"-G"}, "sm_80"), (Strings{"-G", "-arch=sm_80"}));
    EXPECT_EQ(with_target(Strings{"-D", "-arch=sm_90"}, "sm_80"), (Strings{"-D", "-arch=sm_90", "-arch=sm_80"}))
        << "which is a macro's name there";
    EXPECT_EQ(with_target({}, "sm_80"), Strings{"-arch=sm_80"});
}

TEST(NvrtcOptions, helpers_write_them_as_nvrtc_takes_them)
{
    const Strings options = Options()
                                .target("sm_90a")
                                .standard(20)
                                .fast_math()
                                .lto()
                                .relocatable()
                                .max_registers(64)
                                .line_info()
                                .include("/x")
                                .define("A")
                                .define("B", "2")
                                .add("--restrict");
    EXPECT_EQ(options, (Strings{"-arch=sm_90a", "-std=c++20", "--use_fast_math", "-dlto", "-rdc=true",
                                "-maxrregcount=64", "-lineinfo", "-I/x", "-DA", "-DB=2", "--restrict"}));
}

}  // namespace

}  // namespace hearth::nvrtc
