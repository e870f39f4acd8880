// Remotes in programs that know nothing of Hearth: the drop-in libraries load stores that lie beside them.
#include "served.hpp"
#include "support/redis_server.hpp"

#include <fmt/format.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class DropinRemote : public Served {
protected:
    void SetUp() override
    {
        Served::SetUp();
        need(std::string(HEARTH_DROPINS) + "/libhearth_dropin_redis.so");
        if (!has_redis())
            GTEST_SKIP() << "No redis-server is installed.";
        need_library({"libnvrtc.so.13", "libnvrtc.so.12"});
        command = {program("own_new"), real};
        m_redis.emplace();
    }

    // Nothing but the drop-in libraries' own place tells where their stores lie.
    ProcessResult served_at(const fs::path& directory)
    {
        // A busy machine is no failure.
        const std::string address =
            fmt::format("redis://127.0.0.1:{}?prefix={}&timeout=10s&connect-timeout=5s", m_redis->port(), m_prefix);
        return served({.environment = {
                           {"HEARTH_DIR", directory.string()}, {"HEARTH_REMOTE", address}, {"HEARTH_LOG", "stderr"}}});
    }
    std::string m_prefix = "hearth:";
    std::optional<RedisServer> m_redis;
};

}  // namespace

TEST_F(DropinRemote, what_one_machine_compiled_another_finds_on_the_server)
{
    const ProcessResult compiled = served_at(scratch / "one");
    EXPECT_EQ(compiled.out, "create 0 compile 0\n") << compiled.err;
    EXPECT_EQ(summary_of(compiled).value("compiled", 0), 1) << compiled.err;
    const ProcessResult answered = served_at(scratch / "another");
    EXPECT_EQ(answered.out, "create 0 compile 0\n") << answered.err;
    EXPECT_EQ(summary_of(answered).value("hits", 0), 1) << answered.err;
    EXPECT_EQ(summary_of(answered).value("compiled", -1), 0) << answered.err;
}

TEST_F(DropinRemote, is_reached_however_a_program_comes_to_the_library)
{
    const std::string soname = fs::path(real).filename().string();
    std::vector<Words> commands{command, {program("own_new"), soname}};
    for (const char* linked : {"every_call_enable_new_dtags", "every_call_disable_new_dtags"})
        if (fs::exists(program(linked)))
            commands.push_back({program(linked)});
    if (fs::exists("/usr/bin/python3"))
        commands.push_back(
            {"/usr/bin/python3", "-c",
             "import ctypes\n"
             "n = ctypes.CDLL('" +
                 soname +
                 "')\n"
                 "p = ctypes.c_void_p()\n"
                 "assert n.nvrtcCreateProgram(ctypes.byref(p), b'__global__ void k() {}', b'k.cu', 0, None, "
                 "None) == 0\n"
                 "assert n.nvrtcCompileProgram(p, 0, None) == 0\n"});
    int number = 0;
    for (const Words& each : commands) {
        command = each;
        m_prefix = fmt::format("{}:", number);
        const ProcessResult first = served_at(scratch / std::to_string(++number));
        EXPECT_GE(summary_of(first).value("compiled", 0), 1) << command.back() << ": " << first.err;
        const ProcessResult second = served_at(scratch / std::to_string(++number));
        EXPECT_GE(summary_of(second)["by_tier"].value("redis", 0), 1) << command.back() << ": " << second.err;
        EXPECT_EQ((first.err + second.err).find("cannot be loaded"), std::string::npos) << first.err << second.err;
    }
}

TEST_F(DropinRemote, stores_for_drop_ins_have_the_cpp_library_inside)
{
    for (const char* name : {"redis", "http"}) {
        const std::string file = fmt::format("{}/libhearth_dropin_{}.so", HEARTH_DROPINS, name);
        if (!fs::exists(file))
            continue;
        const ProcessResult needed = run_process({"/bin/sh", "-c", "readelf -dW " + file + " | grep NEEDED"});
        EXPECT_NE(needed.out.find("[libc.so.6]"), std::string::npos) << needed.err;
        for (const char* foreign : {"libstdc++", "libgcc_s", "libfmt"})
            EXPECT_EQ(needed.out.find(foreign), std::string::npos) << name << ": " << needed.out;
        const ProcessResult shown = run_process({"/bin/sh", "-c", "nm -D --defined-only " + file + " | cut -d' ' -f3"});
        EXPECT_EQ(shown.out, "hearth_open_store_5\n") << name;
    }
}

}  // namespace hearth::test
