// 54: what was measured of kernels' variants, as people see it.
#include "command.hpp"

#include "support/redis_server.hpp"

namespace hearth::test {

using Tune = Command;

TEST_F(Tune, lists_each_kernel_with_its_winner_and_what_it_gained)
{
    measure("gemm", "tile 64");
    measure("copy", "first");
    const std::string table = hearth({"tune"}).out;
    EXPECT_NE(table.find("tile 64, 25.0 % faster"), std::string::npos) << table;
    EXPECT_NE(table.find("no variant better"), std::string::npos) << table;
    EXPECT_NE(table.find("580.159.04"), std::string::npos) << table;
    EXPECT_LT(table.find("copy"), table.find("gemm")) << "by name";
}

TEST_F(Tune, one_kernel_is_shown_with_the_time_of_each_variant)
{
    measure("gemm", "tile 64");
    measure("copy", "first");
    const std::string table = hearth({"tune", "ge*"}).out;
    EXPECT_EQ(table.find("copy"), std::string::npos) << table;
    EXPECT_NE(table.find("0.740 to 0.760"), std::string::npos) << table;
    EXPECT_NE(table.find("dropped: too much shared memory"), std::string::npos) << table;
}

TEST_F(Tune, each_record_of_several_is_shown_with_its_own_times)
{
    measure("gemm", "tile 64");
    measure("gemv", "tile 64");
    const std::string table = hearth({"tune", "gem?"}).out;
    const std::size_t first = table.find("0.740 to 0.760");
    ASSERT_NE(first, std::string::npos) << table;
    EXPECT_NE(table.find("0.740 to 0.760", first + 1), std::string::npos) << table;
}

TEST_F(Tune, json_has_everything_that_was_measured)
{
    const std::string key = measure("gemm", "tile 64");
    const auto rows = json_lines_of({"tune", "--json"});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].at("key"), key);
    EXPECT_EQ(rows[0].at("winner"), "tile 64");
    EXPECT_DOUBLE_EQ(rows[0].at("gain").get<double>(), 0.25);
    EXPECT_EQ(rows[0].at("variants").size(), 3U);
    EXPECT_DOUBLE_EQ(rows[0].at("variants")[1].at("median_seconds").get<double>(), 75e-6);
}

TEST_F(Tune, clears_what_it_is_told_and_only_that)
{
    measure("gemm", "tile 64");
    measure("copy", "first");
    put("kernel", "bytes");
    EXPECT_EQ(hearth({"tune", "--clear"}).exit_code, 2) << "of what?";
    EXPECT_NE(hearth({"tune", "--clear", "gemm"}).out.find("Removed 1 measurement"), std::string::npos);
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
    EXPECT_NE(hearth({"tune", "gemv"}).err.find("\"gemv\""), std::string::npos);
}

TEST_F(Tune, show_tells_the_winner_of_a_kernel_and_the_measurements_of_a_record)
{
    const std::string entry = put("kernel", "bytes");
    const std::string record = measure("gemm", "tile 64", entry);
    EXPECT_NE(hearth({"show", "kernel"}).out.find("variants  gemm: tile 64, 25.0 % faster"), std::string::npos);
    EXPECT_NE(hearth({"show", record}).out.find("0.740 to 0.760"), std::string::npos);
    EXPECT_EQ(json_of({"show", "kernel", "--json"}).at("variants").size(), 1U);
}

TEST_F(Tune, a_bundle_carries_what_was_measured)
{
    measure("gemm", "tile 64");
    ASSERT_EQ(hearth({"bundle", "create", "all.bundle"}).exit_code, 0);
    ASSERT_EQ(hearth({"clear", "--yes"}).exit_code, 0);
    ASSERT_EQ(hearth({"tune"}).exit_code, 1);
    ASSERT_EQ(hearth({"prewarm", "--bundle", "all.bundle"}).exit_code, 0);
    EXPECT_NE(hearth({"tune"}).out.find("tile 64, 25.0 % faster"), std::string::npos);
}

TEST_F(Tune, what_a_bundle_has_is_not_cleared_and_that_is_said)
{
    measure("gemm", "tile 64");
    ASSERT_EQ(hearth({"bundle", "create", "all.bundle"}).exit_code, 0);
    const ProcessOptions bundled{
        .environment = {{"HEARTH_BUNDLES", (scratch / "all.bundle").string()}, {"HEARTH_DIR", cache.string()}}};
    const ProcessResult both = hearth({"tune", "--clear", "gemm"}, bundled);
    EXPECT_EQ(both.exit_code, 0);
    EXPECT_EQ(both.out, "Removed 1 measurement.\n");
    EXPECT_NE(both.err.find("1 measurement is still in a bundle that cannot be changed"), std::string::npos)
        << both.err;
    EXPECT_TRUE(ends_saying(hearth({"tune", "--clear", "gemm"}, bundled), 1, "in a bundle"));
    EXPECT_NE(hearth({"tune"}, bundled).out.find("tile 64"), std::string::npos);
}

class TuneWithServer : public Command {
protected:
    void SetUp() override
    {
        if (!has_redis())
            GTEST_SKIP() << "No redis-server is installed.";
        m_server.emplace();
        remote.environment = {{"HEARTH_REMOTE", "redis://127.0.0.1:" + std::to_string(m_server->port())},
                              {"HEARTH_DIR", cache.string()}};
    }

    ProcessOptions remote;
    std::optional<RedisServer> m_server;
};

TEST_F(TuneWithServer, clearing_reaches_the_server_too)
{
    measure("gemm", "tile 64");
    ASSERT_EQ(hearth({"push"}, remote).exit_code, 0);
    const ProcessResult cleared = hearth({"tune", "--clear", "gemm"}, remote);
    EXPECT_EQ(cleared.out, "Removed 1 measurement.\n");
    EXPECT_EQ(cleared.err, "");
    ASSERT_EQ(hearth({"pull"}, remote).exit_code, 0);
    EXPECT_EQ(hearth({"tune"}, remote).exit_code, 1) << "nobody has it any more";
}

TEST_F(TuneWithServer, what_cannot_be_cleared_there_is_said)
{
    measure("gemm", "tile 64");
    ASSERT_EQ(hearth({"push"}, remote).exit_code, 0);
    remote.environment["HEARTH_REMOTE"] = *remote.environment["HEARTH_REMOTE"] + "?read-only=1";
    const ProcessResult cleared = hearth({"tune", "--clear", "gemm"}, remote);
    EXPECT_EQ(cleared.exit_code, 0);
    EXPECT_NE(cleared.err.find("1 measurement is still on a server that cannot be changed"), std::string::npos)
        << cleared.err;
}

TEST_F(TuneWithServer, it_carries_what_was_measured)
{
    measure("gemm", "tile 64");
    ASSERT_EQ(hearth({"push"}, remote).exit_code, 0);
    ASSERT_EQ(hearth({"clear", "--yes"}).exit_code, 0);
    ASSERT_EQ(hearth({"tune"}).exit_code, 1);
    ASSERT_EQ(hearth({"pull"}, remote).exit_code, 0);
    EXPECT_NE(hearth({"tune"}).out.find("tile 64, 25.0 % faster"), std::string::npos);
}

}  // namespace hearth::test
