// Programs that use NVRTC and know nothing of Hearth: what they see with `hearth run` is what they see without (56).
#include "served.hpp"
#include "support/redis_server.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class DropinLibrary : public Served {
protected:
    void SetUp() override
    {
        Served::SetUp();
        find_nvrtc();
    }
    void find_nvrtc()
    {
        need_library({"libnvrtc.so.13", "libnvrtc.so.12"});
        command = {program("every_call"), real};
    }
    static ProcessOptions part(const char* name) { return {.environment = {{"EVERY_CALL_PART", name}}}; }
    // By its name or by that of what it stands in for: one library, the drop-in, and no built-in headers.
    static void expect_only_the_dropin(const ProcessResult& hit)
    {
        EXPECT_EQ(std::count(hit.err.begin(), hit.err.end(), '\n'), 1) << hit.err;
        EXPECT_NE(hit.err.find("dropin"), std::string::npos) << hit.err;
    }
    std::string dropin() const
    {
        const bool is_of_12 = real.find(".so.12") != std::string::npos;
        return std::string(HEARTH_DROPINS) + (is_of_12 ? "/libnvrtc.so.12" : "/libnvrtc.so.13");
    }
};

// A program and the way in which it comes to the library: the case's name, the program's, and what that dlopens: a
// soname, a plain name, "path" for the library's own.
class Dropin : public DropinLibrary, public testing::WithParamInterface<Words> {
protected:
    void SetUp() override
    {
        DropinLibrary::SetUp();
        command = {program(GetParam()[1])};
        need(command[0]);  // without a libnvrtc those that are linked with one are not built
        if (GetParam().size() > 2)
            command.push_back(GetParam()[2] == "path" ? real : GetParam()[2]);
    }
};

// The drop-in libraries load stores that lie beside them.
class DropinRemote : public DropinLibrary {
protected:
    void SetUp() override
    {
        DropinLibrary::SetUp();
        need(std::string(HEARTH_DROPINS) + "/libhearth_dropin_redis.so");
        if (!has_redis())
            GTEST_SKIP() << "No redis-server is installed.";
        m_redis.emplace();
    }

    // Nothing but the drop-in libraries' own place tells where their stores lie.
    ProcessResult served_at(const fs::path& directory, const std::string& prefix)
    {
        // A busy machine is no failure.
        const std::string address =
            fmt::format("redis://127.0.0.1:{}?prefix={}&timeout=10s&connect-timeout=5s", m_redis->port(), prefix);
        return served({.environment = {{"EVERY_CALL_PART", "plain"},
                                       {"HEARTH_DIR", directory.string()},
                                       {"HEARTH_REMOTE", address},
                                       {"HEARTH_LOG", "stderr"}}});
    }
    std::optional<RedisServer> m_redis;
};

// The lines of what a library needs, and the symbols that it shows.
std::string needed_by(const std::string& file)
{
    return run_process({"/bin/sh", "-c", "readelf -dW " + file + " | grep NEEDED"}).out;
}
std::string shown_by(const std::string& file)
{
    return run_process({"/bin/sh", "-c", "nm -D --defined-only " + file + " | cut -d' ' -f3"}).out;
}

}  // namespace

TEST_P(Dropin, is_not_to_be_told_from_the_real_library_on_a_miss_and_on_a_hit)
{
    const auto [miss, hit] = compare();
    EXPECT_GT(miss.value("compiled", 0), 10) << miss;
    EXPECT_EQ(hit.value("compiled", -1), 0) << hit;
    EXPECT_GT(hit.value("hits", 0), 10) << hit;
    EXPECT_GT(hit.value("saved_seconds", 0.0), 0) << hit;
    expect_only_the_dropin(served(part("plain"), {}));
}

TEST_F(DropinLibrary, answers_hits_without_the_compiler)
{
    const ProcessResult without = plain(part("compiles"));
    EXPECT_NE(without.err.find(fs::path(real).filename().string()), std::string::npos) << without.err;
    ASSERT_EQ(served(part("compiles"), {}).exit_code, 0);
    const ProcessResult hit = served(part("compiles"), {});
    EXPECT_EQ(hit.out, without.out);
    expect_only_the_dropin(hit);
}

TEST_F(DropinLibrary, changes_nothing_when_it_is_turned_off_or_its_directory_cannot_be_used)
{
    compare_without_a_cache();
}

INSTANTIATE_TEST_SUITE_P(doors, Dropin,
                         testing::Values(Words{"linked_with_runpath", "every_call_enable_new_dtags"},
                                         Words{"linked_with_rpath", "every_call_disable_new_dtags"},
                                         Words{"opened_by_path", "every_call", "path"},
                                         Words{"opened_by_plain_name", "every_call", "libnvrtc.so"},
                                         Words{"opened_by_soname_and_own_new", "own_new", "libnvrtc.so.13"}),
                         [](const auto& door) { return door.param[0]; });

class DropinInside : public DropinLibrary {
protected:
    void SetUp() override { find_nvrtc(); }
};

// With sanitizers this is where they look into it.
TEST_F(DropinInside, gives_inside_one_program_what_the_real_library_gives)
{
    ProcessOptions options;
    options.limit = std::chrono::seconds(300);
    options.environment = {{"HEARTH_DIR", cache.string()}, {"HEARTH_NVRTC", real}, {"CUDA_CACHE_DISABLE", "1"}};
    ProcessResult without = run_process(command, options);
    // What comes after is of a library that was closed and opened again, which is not to be had inside a program.
    without.out.resize(without.out.find("close "));
    for (const char* time : {"miss", "hit"}) {
        const ProcessResult with = run_process({program("every_call_inside")}, options);
        EXPECT_EQ(with.exit_code, 0) << with.err;
        EXPECT_EQ(with.out, without.out) << time;
    }
}

// tests/matrix has the other ways to come to the library, from an installed copy.
TEST_F(DropinRemote, what_one_machine_compiled_another_finds_on_the_server)
{
    const std::string soname = fs::path(real).filename().string();
    std::vector<Words> commands{{program("own_new"), real}, {program("own_new"), soname}};
    if (const std::string linked = program("every_call_disable_new_dtags"); fs::exists(linked))
        commands.push_back({linked});
    for (const Words& each : commands) {
        SCOPED_TRACE(each.back());
        command = each;
        const fs::path own = scratch / std::to_string(&each - commands.data());
        const ProcessResult compiled = served_at(own / "one", own.filename());
        EXPECT_NE(compiled.out.find("compile 0\n"), std::string::npos) << compiled.err;
        EXPECT_TRUE(holds(summary_of(compiled), {{"compiled", 1}}));
        const ProcessResult answered = served_at(own / "another", own.filename());
        EXPECT_EQ(answered.out, compiled.out) << answered.err;
        EXPECT_TRUE(holds(summary_of(answered), {{"compiled", 0}, {"by_tier/redis", 1}}));
        EXPECT_EQ((compiled.err + answered.err).find("cannot be loaded"), std::string::npos) << answered.err;
    }
}

TEST_F(Served, needs_nothing_but_libc_and_shows_nothing_but_what_it_stands_for)
{
    for (const char* name : {"libnvrtc.so.12", "libnvrtc.so.13", "libnvJitLink.so.12", "libnvJitLink.so.13",
                             "libnvvm.so.4", "libhearth_audit.so", "libhearth_dropin_crypto.so"}) {
        const std::string file = std::string(HEARTH_DROPINS) + "/" + name;
        std::istringstream lines(needed_by(file));
        int count = 0;
        for (std::string line; std::getline(lines, line); ++count)
            EXPECT_TRUE(line.find("[libc.so.6]") != std::string::npos ||
                        line.find("[libm.so.6]") != std::string::npos || line.find("[ld-linux") != std::string::npos)
                << name << ": " << line;
        EXPECT_GT(count, 0) << name;
        // Where another library has taken what the loader sets aside, one that needs static TLS cannot be opened.
        const ProcessResult flags =
            run_process({"/bin/sh", "-c", "readelf -drW " + file + " | grep -E 'STATIC_TLS|TPREL|TPOFF'"});
        EXPECT_EQ(flags.out, "") << name;
        std::istringstream symbols(shown_by(file));
        for (std::string symbol; symbols >> symbol;)
            EXPECT_TRUE(symbol.starts_with("nvrtc") || symbol.starts_with("__nvrtc") ||
                        symbol.starts_with("nvJitLink") || symbol.starts_with("__nvJitLink") ||
                        symbol.starts_with("nvvm") || symbol.starts_with("__nvvm") ||
                        symbol.starts_with(std::string(name) + "@") || symbol == name || symbol.starts_with("la_") ||
                        symbol.starts_with("hearth_real_library") || symbol == "hearth_dropin_crypto_1")
                << name << ": " << symbol;
    }
}

TEST_F(Served, stores_for_drop_ins_have_the_cpp_library_inside)
{
    for (const char* name : {"redis", "http"}) {
        const std::string file = std::string(HEARTH_DROPINS) + "/libhearth_dropin_" + name + ".so";
        if (!fs::exists(file))
            continue;
        const std::string needed = needed_by(file);
        EXPECT_NE(needed.find("[libc.so.6]"), std::string::npos) << name << ": " << needed;
        for (const char* foreign : {"libstdc++", "libgcc_s", "libfmt"})
            EXPECT_EQ(needed.find(foreign), std::string::npos) << name << ": " << needed;
        EXPECT_EQ(shown_by(file), "hearth_open_store_5\n") << name;
    }
}

TEST_F(DropinLibrary, leaves_a_library_alone_that_is_newer_than_it_knows)
{
    command = {"/usr/bin/python3", "-c",
               "import ctypes; print(ctypes.CDLL('" HEARTH_NEWER_NVRTC "/libnvrtc.so.13').nvrtcDoSomethingNew())"};
    const ProcessResult result = served({}, {});
    EXPECT_EQ(result.out, "42\n");
    EXPECT_NE(result.err.find("nvrtcDoSomethingNew"), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    const ProcessResult quiet = served({.environment = {{"HEARTH_QUIET", "1"}}}, {});
    EXPECT_EQ(quiet.out, "42\n");
    EXPECT_EQ(quiet.err, "");
    EXPECT_EQ(served({.environment = {{"HEARTH_QUIET", "0"}}}, {}).err, result.err);
}

TEST_F(DropinLibrary, answers_programs_that_ask_for_automatic_precompiled_headers)
{
    const auto ptx_of = [](const std::string& out) { return out.substr(out.find("  ptx "), 50); };
    const ProcessResult without = plain(part("pch"));
    for (const char* outcome : {"compiled", "hits"}) {
        const ProcessResult with = served(part("pch"));
        EXPECT_EQ(ptx_of(with.out), ptx_of(without.out));
        // As where no precompiled header was needed.
        EXPECT_TRUE(ends_printing(with, 0, "  log 0 1 0 ", "  heap 0 ", "  pch status 13\n"));
        EXPECT_TRUE(holds(summary_of(with), {{outcome, 1}, {"past_the_cache", 0}}));
    }
}

TEST_F(DropinLibrary, notes_key_bytes_and_cost_of_every_lookup)
{
    const auto noted = [&](const std::string& log) {
        // What was in the file before is gone.
        write(log, "old\n");
        EXPECT_EQ(served(part("pch"), {"--log", log}).err, "");
        return nlohmann::json::parse(read(scratch / log), nullptr, false);
    };
    const nlohmann::json miss = noted("first");
    const nlohmann::json hit = noted("second");
    EXPECT_TRUE(holds(miss, {{"outcome", "miss"}}));
    EXPECT_TRUE(holds(hit, {{"outcome", "hit"}, {"tier", "disk"}}));
    EXPECT_GT(miss.value("cost_ms", 0.0), 0) << miss;
    EXPECT_GT(miss.value("bytes", 0), 0) << miss;
    for (const char* same : {"key", "bytes", "cost_ms"})
        EXPECT_EQ(miss.value(same, nlohmann::json()), hit.value(same, nlohmann::json())) << same;
    EXPECT_TRUE(holds(json_of({"show", miss.value("key", ""), "--json"}), {{"bytes", miss.value("bytes", -1)}}));
}

TEST_F(DropinLibrary, compiles_nothing_past_the_cache_where_that_is_forbidden)
{
    EXPECT_NE(plain(part("past")).out.find("compile 0"), std::string::npos);
    const ProcessResult refused = served(part("past"), {"--json", "--forbid-compile"});
    EXPECT_TRUE(ends_printing(refused, 0, "(precompiled headers), and compiling is forbidden",
                              "callback), and compiling is forbidden"));
    EXPECT_EQ(refused.out.find("compile 0"), std::string::npos) << refused.out;
    EXPECT_TRUE(holds(summary_of(refused), {{"forbidden", 3}, {"past_the_cache", 0}}));

    // Nor where there is no cache to ask.
    ProcessOptions nowhere = part("compiles");
    nowhere.environment["HEARTH_DIR"] = "/proc/no/such/place";
    const ProcessResult homeless = served(nowhere, {"--json", "--forbid-compile"});
    EXPECT_EQ(homeless.out.find("compile 0"), std::string::npos) << homeless.out;
    EXPECT_TRUE(holds(summary_of(homeless), {{"past_the_cache", 0}}));
}

// As where a limit on processes is reached. The first compile stores, which would start a thread.
TEST_F(DropinLibrary, compiles_where_no_thread_can_be_had)
{
    const std::string source = write("none.c", "#include <errno.h>\nint pthread_create() { return EAGAIN; }\n");
    const std::string none = (scratch / "none").string();
    ASSERT_EQ(run_process({"/usr/bin/env", "cc", "-shared", "-fPIC", "-o", none, source}).exit_code, 0);
    command = {"/usr/bin/env", "LD_PRELOAD=" + none, program("own_new"), real};
    const auto [miss, hit] = compare(part("plain"));
    EXPECT_TRUE(holds(miss, {{"compiled", 1}}));
    EXPECT_TRUE(holds(hit, {{"hits", 1}}));
}

TEST_F(DropinLibrary, is_found_by_a_relative_path_after_the_program_has_gone_elsewhere)
{
    fs::create_directory_symlink(fs::path(real).parent_path(), scratch / "libs");
    ProcessOptions options{.environment = {{"EVERY_CALL_GOES_TO", "/"}}};
    const std::string name = fs::path(real).filename().string();
    command[1] = "libs/" + name;
    const ProcessResult without = plain(options);
    ASSERT_EQ(without.exit_code, 0) << without.err;
    EXPECT_EQ(served(options, {}).out, without.out);
    // By a search path, and as the variable names it where there is no audit library.
    command[1] = name;
    options.environment["LD_LIBRARY_PATH"] = "libs";
    EXPECT_EQ(served(options, {}).out, without.out);
    command[1] = dropin();
    options.environment["LD_LIBRARY_PATH"] = "libs:" + fs::path(real).parent_path().string();
    options.environment["HEARTH_NVRTC"] = "libs/" + name;
    options.environment["HEARTH_DIR"] = cache.string();
    EXPECT_EQ(plain(options).out, without.out);
}

TEST_F(DropinLibrary, never_takes_itself_or_a_copy_for_the_real_one)
{
    ProcessOptions options = part("compiles");
    options.environment["HEARTH_DIR"] = cache.string();
    const std::string name = fs::path(dropin()).filename().string();
    const ProcessResult without = plain(options);
    command[1] = name;
    fs::create_directory(scratch / "copy");
    fs::copy_file(dropin(), scratch / "copy" / name);
    options.environment["LD_LIBRARY_PATH"] =
        std::string(HEARTH_DROPINS) + ":" + (scratch / "copy").string() + ":" + fs::path(real).parent_path().string();
    for (const std::string& named : {dropin(), (scratch / "copy" / name).string(), std::string()}) {
        options.environment["HEARTH_NVRTC"] = named;
        const ProcessResult result = plain(options);
        EXPECT_EQ(result.signal, 0) << named;
        EXPECT_EQ(result.out, without.out) << named;
    }
}

TEST_F(DropinLibrary, is_not_told_of_a_library_that_another_was_asked_for)
{
    // The second time it is open already; what is opened then is no stand-in for it.
    const char* const ask = "import ctypes, sys\nfor name in sys.argv[1:]:\n"
                            "    library = ctypes.CDLL(name)\n"
                            "    print((ctypes.c_char * 4096).in_dll(library, 'hearth_real_library').value.decode())\n";
    const std::string other = std::string(HEARTH_DROPINS) + "/libnvJitLink.so.13";
    command = {"/usr/bin/python3", "-c", ask, real, real, other};
    const ProcessResult result = served({}, {});
    EXPECT_EQ(result.out, real + "\n" + real + "\n\n") << result.err;
}

}  // namespace hearth::test
