// Remotes in programs that know nothing of Hearth: the drop-in libraries load stores that lie beside them.
#include "hearth/libraries.hpp"
#include "support/redis_server.hpp"
#include "tools/command.hpp"

#include <fmt/format.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class DropinRemote : public Command {
protected:
    void SetUp() override
    {
        if (std::string(HEARTH_DROPINS).empty())
            GTEST_SKIP() << "The drop-in libraries are not built here.";
        if (!fs::exists(std::string(HEARTH_DROPINS) + "/libhearth_dropin_redis.so"))
            GTEST_SKIP() << "The store for Redis is not built here.";
        if (!has_redis())
            GTEST_SKIP() << "No redis-server is installed.";
        m_library = find_library({"libnvrtc.so.13", "libnvrtc.so.12"});
        if (m_library.empty())
            GTEST_SKIP() << "No libnvrtc is installed.";
        m_redis.emplace();
    }

    // Nothing but the drop-in libraries' own place tells where their stores lie.
    ProcessResult served(const std::string& program, const fs::path& directory)
    {
        ProcessOptions options;
        options.environment = {{"HEARTH_DIR", directory.string()},
                               {"HEARTH_REMOTE", fmt::format("redis://127.0.0.1:{}", m_redis->port())},
                               {"HEARTH_LOG", "stderr"},
                               {"LD_LIBRARY_PATH", fs::path(m_library).parent_path().string()}};
        return hearth({"run", "--json", "--", program, m_library}, options);
    }
    std::string m_library;
    std::optional<RedisServer> m_redis;
};

}  // namespace

TEST_F(DropinRemote, what_one_machine_compiled_another_finds_on_the_server)
{
    const std::string program = std::string(HEARTH_PROGRAMS) + "/own_new";
    const ProcessResult compiled = served(program, scratch / "one");
    EXPECT_EQ(compiled.out, "create 0 compile 0\n") << compiled.err;
    EXPECT_EQ(summary_of(compiled).value("compiled", 0), 1) << compiled.err;
    const ProcessResult answered = served(program, scratch / "another");
    EXPECT_EQ(answered.out, "create 0 compile 0\n") << answered.err;
    EXPECT_EQ(summary_of(answered).value("hits", 0), 1) << answered.err;
    EXPECT_EQ(summary_of(answered).value("compiled", -1), 0) << answered.err;
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
        EXPECT_EQ(shown.out, "hearth_open_store_2\n") << name;
    }
}

}  // namespace hearth::test
