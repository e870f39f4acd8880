#include "compilers/nvrtc/replay.hpp"

#include <gtest/gtest.h>

namespace hearth::nvrtc {

namespace {

const std::vector<watch::Condition> k_read{
    {.kind = watch::Condition::Kind::content, .spot = {watch::Spot::From::directory, 0, "a.h"}},
    {.kind = watch::Condition::Kind::content, .spot = {watch::Spot::From::directory, 0, "b(1).h"}, .same_file = 1}};

watch::Places places_at(const std::string& root)
{
    return {"/", root, {root + "/inc"}};
}

TEST(LogReplay, every_place_where_nvrtc_writes_a_path_gets_the_new_one)
{
    const std::string log = "/x/p.cu(2): warning #177-D: variable \"zz\" was declared but never referenced\n"
                            "  use(\"/x/p.cu(2): left alone: this is the source\");\n"
                            "\n"
                            "/x/inc/a.h(1): error: static assertion failed with \"too big\"\n"
                            "          detected during:\n"
                            "            instantiation of \"T f(T) [with T=double]\" at line 2\n"
                            "            instantiation of \"T g(T) [with T=double]\" at line 2 of /x/p.cu\n"
                            "/x/inc/b(1).h(7): error: in a path with a bracket\n"
                            "\n"
                            "1 error detected in the compilation of \"/x/p.cu\".";
    std::string expected = log;
    const auto replace = [&](const std::string& from, const std::string& to) {
        const std::size_t at = expected.find(from);
        ASSERT_NE(at, std::string::npos) << from;
        expected.replace(at, from.size(), to);
    };
    replace("/x/p.cu(2): warning", "/other/place/q.cu(2): warning");
    replace("/x/inc/a.h(1)", "/other/inc/a.h(1)");
    replace("of /x/p.cu\n", "of /other/place/q.cu\n");
    replace("/x/inc/b(1).h(7)", "/other/inc/b(1).h(7)");
    replace("\"/x/p.cu\".", "\"/other/place/q.cu\".");
    const std::string paths = paths_in_log(log, {"/x/p.cu", places_at("/x")}, k_read);
    EXPECT_EQ(replay_log(log, paths, {"/other/place/q.cu", places_at("/other")}), expected);
    EXPECT_EQ(replay_log(log, paths, {"/x/p.cu", places_at("/x")}), log);
}

TEST(LogReplay, a_log_that_would_grow_beyond_all_measure_stays_as_it_is)
{
    std::string log;
    for (int i = 0; i < 20'000; ++i)
        log += "/x/p.cu(1): error: no\n";
    const std::string paths = paths_in_log(log, {"/x/p.cu", places_at("/x")}, k_read);
    const std::string longer = "/y/" + std::string(1000, 'y') + ".cu";
    EXPECT_EQ(replay_log(log, paths, {longer, places_at("/y")}), log);
    EXPECT_NE(replay_log(log.substr(0, log.size() / 2), paths, {longer, places_at("/y")}),
              log.substr(0, log.size() / 2));
}

TEST(LogReplay, damaged_paths_leave_the_log_as_it_is)
{
    const std::string log = "/x/p.cu(1): error: no\n";
    for (const char* paths : {"", "x", "\x01\x02\x03\x04", "\xff\xff\xff\xff"})
        EXPECT_EQ(replay_log(log, paths, {"/y/p.cu", places_at("/y")}), log);
}

}  // namespace

}  // namespace hearth::nvrtc
