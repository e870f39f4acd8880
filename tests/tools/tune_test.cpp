// 54: what was measured of kernels' variants, as people see it.
#include "command.hpp"

#include "support/redis_server.hpp"

namespace hearth::test {

using Tune = Command;

TEST_F(Tune, lists_each_kernel_with_its_winner_and_what_it_gained_and_json_has_everything)
{
    const std::string key = measure("gemm", "tile 64");
    measure("copy", "first");
    const std::string table = hearth({"tune"}).out;
    for (const char* text : {"tile 64, 25.0 % faster", "no variant better", "580.159.04"})
        EXPECT_NE(table.find(text), std::string::npos) << table;
    EXPECT_LT(table.find("copy"), table.find("gemm")) << "by name";
    // Those that are named, with the times of their variants.
    measure("gemv", "tile 64");
    const std::string named = hearth({"tune", "gem?"}).out;
    EXPECT_EQ(named.find("copy"), std::string::npos) << named;
    EXPECT_NE(named.find("dropped: too much shared memory"), std::string::npos) << named;
    EXPECT_NE(named.find("0.740 to 0.760", named.find("0.740 to 0.760") + 1), std::string::npos) << named;

    ASSERT_EQ(json_lines_of({"tune", "--json"}).size(), 3U);
    const auto row = json_of({"tune", "gemm", "--json"});
    EXPECT_TRUE(holds(row, {{"key", key}, {"winner", "tile 64"}}));
    EXPECT_DOUBLE_EQ(row.at("gain").get<double>(), 0.25);
    EXPECT_EQ(row.at("variants").size(), 3U);
    EXPECT_DOUBLE_EQ(row.at("variants")[1].at("median_seconds").get<double>(), 75e-6);
}

TEST_F(Tune, clears_what_it_is_told_and_only_that)
{
    measure("gemm", "tile 64");
    measure("copy", "first");
    put("kernel", "bytes");
    EXPECT_EQ(hearth({"tune", "--clear"}).exit_code, 2) << "of what?";
    EXPECT_TRUE(ends_printing(hearth({"tune", "--clear", "gemm"}), 0, "Removed 1 measurement"));
    EXPECT_EQ(json_lines_of({"tune", "--json"}).size(), 1U);
    EXPECT_EQ(hearth({"tune", "--clear", "--all"}).exit_code, 0);
    EXPECT_EQ(hearth({"tune"}).exit_code, 1);
    EXPECT_EQ(hearth({"get", "kernel"}).out, "bytes");
}

TEST_F(Tune, says_what_to_do_where_nothing_was_measured)
{
    put("kernel", "bytes");
    EXPECT_TRUE(ends_saying(hearth({"tune"}), 1, "docs/variants.md"));
    measure("gemm", "first");
    EXPECT_TRUE(ends_saying(hearth({"tune", "gemv"}), 1, "\"gemv\""));
}

TEST_F(Tune, show_tells_the_winner_of_a_kernel_and_the_measurements_of_a_record)
{
    const std::string entry = put("kernel", "bytes");
    const std::string record = measure("gemm", "tile 64", entry);
    EXPECT_TRUE(ends_printing(hearth({"show", "kernel"}), 0, "variants  gemm: tile 64, 25.0 % faster"));
    EXPECT_TRUE(ends_printing(hearth({"show", record}), 0, "0.740 to 0.760"));
    EXPECT_EQ(json_of({"show", "kernel", "--json"}).at("variants").size(), 1U);
}

TEST_F(Tune, a_bundle_carries_what_was_measured_and_is_not_cleared_which_is_said)
{
    measure("gemm", "tile 64");
    ASSERT_EQ(hearth({"bundle", "create", "all.bundle"}).exit_code, 0);
    ASSERT_EQ(hearth({"clear", "--yes"}).exit_code, 0);
    ASSERT_EQ(hearth({"tune"}).exit_code, 1);
    ASSERT_EQ(hearth({"prewarm", "--bundle", "all.bundle"}).exit_code, 0);
    EXPECT_TRUE(ends_printing(hearth({"tune"}), 0, "tile 64, 25.0 % faster"));

    const ProcessOptions bundled{.environment = {{"HEARTH_BUNDLES", (scratch / "all.bundle").string()}}};
    const ProcessResult both = hearth({"tune", "--clear", "gemm"}, bundled);
    EXPECT_EQ(both.out, "Removed 1 measurement.\n");
    EXPECT_TRUE(ends_saying(both, 0, "1 measurement is still in a bundle that cannot be changed"));
    EXPECT_TRUE(ends_saying(hearth({"tune", "--clear", "gemm"}, bundled), 1, "in a bundle"));
    EXPECT_TRUE(ends_printing(hearth({"tune"}, bundled), 0, "tile 64"));
}

class TuneWithServer : public Command {
protected:
    void SetUp() override
    {
        if (!has_redis())
            GTEST_SKIP() << "No redis-server is installed.";
        m_server.emplace();
        remote.environment = {{"HEARTH_REMOTE", "redis://127.0.0.1:" + std::to_string(m_server->port())}};
        measure("gemm", "tile 64");
        ASSERT_EQ(hearth({"push"}, remote).exit_code, 0);
    }

    ProcessOptions remote;
    std::optional<RedisServer> m_server;
};

TEST_F(TuneWithServer, what_cannot_be_cleared_there_is_said)
{
    remote.environment["HEARTH_REMOTE"] = *remote.environment["HEARTH_REMOTE"] + "?read-only=1";
    EXPECT_TRUE(ends_saying(hearth({"tune", "--clear", "gemm"}, remote), 0,
                            "1 measurement is still on a server that cannot be changed"));
}

TEST_F(TuneWithServer, it_carries_what_was_measured_until_that_is_cleared)
{
    ASSERT_EQ(hearth({"clear", "--yes"}).exit_code, 0);
    ASSERT_EQ(hearth({"tune"}).exit_code, 1);
    ASSERT_EQ(hearth({"pull"}, remote).exit_code, 0);
    EXPECT_TRUE(ends_printing(hearth({"tune"}), 0, "tile 64, 25.0 % faster"));
    const ProcessResult cleared = hearth({"tune", "--clear", "gemm"}, remote);
    EXPECT_EQ(cleared.out, "Removed 1 measurement.\n");
    EXPECT_EQ(cleared.err, "");
    ASSERT_EQ(hearth({"pull"}, remote).exit_code, 0);
    EXPECT_EQ(hearth({"tune"}, remote).exit_code, 1) << "nobody has it any more";
}

}  // namespace hearth::test
