// Programs that use NVRTC and know nothing of Hearth: what they see with `hearth run` is what they see without (56).
#include "served.hpp"

#include <algorithm>
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
    // A program of its own, of C that is built here.
    std::string build(const std::string& name, const std::string& source, const std::string& how = "")
    {
        const std::string file = write(name + ".c", source).string();
        const std::string built = (scratch / name).string();
        EXPECT_EQ(run_process({"/bin/sh", "-c", "cc " + how + " -o " + built + " " + file + " -ldl"}).exit_code, 0);
        return built;
    }
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

struct Door {
    std::string name;
    std::string program;
    std::string library{};  // what is dlopened: a soname, a plain name, "path" for the library's own
};

void PrintTo(const Door& door, std::ostream* out)
{
    *out << door.name;
}

class Dropin : public DropinLibrary, public testing::WithParamInterface<Door> {
protected:
    void SetUp() override
    {
        DropinLibrary::SetUp();
        need(program(GetParam().program));  // without a libnvrtc those that are linked with one are not built
        command = {program(GetParam().program)};
        if (GetParam().library == "path")
            command.push_back(real);
        else if (!GetParam().library.empty())
            command.push_back(GetParam().library);
    }
};

}  // namespace

TEST_P(Dropin, is_not_to_be_told_from_the_real_library_on_a_miss_and_on_a_hit)
{
    const ProcessResult without = plain();
    ASSERT_EQ(without.exit_code, 0) << without.err;
    ASSERT_NE(without.out.find("destroy 0"), std::string::npos);
    const ProcessResult miss = served();
    EXPECT_EQ(miss.exit_code, 0) << miss.err;
    EXPECT_EQ(miss.out, without.out);
    EXPECT_GT(summary_of(miss).value("compiled", 0), 10) << miss.err;
    const ProcessResult hit = served();
    EXPECT_EQ(hit.out, without.out);
    EXPECT_EQ(summary_of(hit).value("compiled", -1), 0) << hit.err;
    EXPECT_GT(summary_of(hit).value("hits", 0), 10) << hit.err;
    EXPECT_GT(summary_of(hit).value("saved_seconds", 0.0), 0) << hit.err;
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
    const ProcessResult without = plain();
    const ProcessResult disabled = served({.environment = {{"HEARTH_DISABLE", "1"}}}, {});
    EXPECT_EQ(disabled.out, without.out);
    EXPECT_EQ(disabled.err, "");
    const ProcessResult homeless = served({.environment = {{"HEARTH_DIR", "/proc/no/such/place"}}}, {});
    EXPECT_EQ(homeless.out, without.out);
    EXPECT_EQ(homeless.exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(doors, Dropin,
                         testing::Values(Door{"linked_with_runpath", "every_call_enable_new_dtags"},
                                         Door{"linked_with_rpath", "every_call_disable_new_dtags"},
                                         Door{"opened_by_path", "every_call", "path"},
                                         Door{"opened_by_plain_name", "every_call", "libnvrtc.so"},
                                         Door{"opened_by_soname", "every_call_cpp", "libnvrtc.so.13"}),
                         [](const testing::TestParamInfo<Door>& door) { return door.param.name; });

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

TEST_F(Served, needs_nothing_but_libc_and_shows_nothing_but_what_it_stands_for)
{
    for (const char* name : {"libnvrtc.so.12", "libnvrtc.so.13", "libnvJitLink.so.12", "libnvJitLink.so.13",
                             "libnvvm.so.4", "libhearth_audit.so", "libhearth_dropin_crypto.so"}) {
        const std::string file = std::string(HEARTH_DROPINS) + "/" + name;
        const ProcessResult needed = run_process({"/bin/sh", "-c", "readelf -dW " + file + " | grep NEEDED"});
        std::istringstream lines(needed.out);
        int count = 0;
        for (std::string line; std::getline(lines, line); ++count)
            EXPECT_TRUE(line.find("[libc.so.6]") != std::string::npos ||
                        line.find("[libm.so.6]") != std::string::npos || line.find("[ld-linux") != std::string::npos)
                << name << ": " << line;
        EXPECT_GT(count, 0) << needed.err;
        // Where another library has taken what the loader sets aside, one that needs static TLS cannot be opened.
        const ProcessResult flags =
            run_process({"/bin/sh", "-c", "readelf -drW " + file + " | grep -E 'STATIC_TLS|TPREL|TPOFF'"});
        EXPECT_EQ(flags.out, "") << name;
        const ProcessResult shown = run_process({"/bin/sh", "-c", "nm -D --defined-only " + file});
        std::istringstream symbols(shown.out);
        for (std::string address, kind, symbol; symbols >> address >> kind >> symbol;)
            EXPECT_TRUE(symbol.starts_with("nvrtc") || symbol.starts_with("__nvrtc") ||
                        symbol.starts_with("nvJitLink") || symbol.starts_with("__nvJitLink") ||
                        symbol.starts_with("nvvm") || symbol.starts_with("__nvvm") ||
                        symbol.starts_with(std::string(name) + "@") || symbol == name || symbol.starts_with("la_") ||
                        symbol.starts_with("hearth_real_library") || symbol == "hearth_dropin_crypto_1")
                << name << ": " << symbol;
    }
}

TEST_F(DropinLibrary, leaves_a_library_alone_that_is_newer_than_it_knows)
{
    const std::string asker = build("newer", "#include <dlfcn.h>\n#include <stdio.h>\n"
                                             "int main(int n, char** v) { void* l = dlopen(v[1], RTLD_NOW);\n"
                                             "int (*f)(void) = (int (*)(void))dlsym(l, \"nvrtcDoSomethingNew\");\n"
                                             "printf(\"%d\\n\", f ? f() : -1); return n - 2; }\n");
    command = {asker, std::string(HEARTH_NEWER_NVRTC) + "/libnvrtc.so.13"};
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
    const auto ptx_of = [](const std::string& out) { return out.substr(out.find("  ptx size"), 50); };
    const ProcessResult without = plain(part("pch"));
    for (const char* outcome : {"compiled", "hits"}) {
        const ProcessResult with = served(part("pch"));
        EXPECT_EQ(ptx_of(with.out), ptx_of(without.out));
        // As where no precompiled header was needed.
        EXPECT_NE(with.out.find("log 0 1 0: []"), std::string::npos) << with.out;
        EXPECT_NE(with.out.find("heap 0, status 13"), std::string::npos) << with.out;
        EXPECT_EQ(summary_of(with).value(outcome, 0), 1) << with.err;
        EXPECT_EQ(summary_of(with).value("past_the_cache", -1), 0) << with.err;
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
    EXPECT_EQ(miss.value("outcome", ""), "miss") << miss;
    EXPECT_EQ(hit.value("outcome", ""), "hit") << hit;
    EXPECT_EQ(hit.value("tier", ""), "disk") << hit;
    EXPECT_GT(miss.value("cost_ms", 0.0), 0) << miss;
    EXPECT_GT(miss.value("bytes", 0), 0) << miss;
    for (const char* same : {"key", "bytes", "cost_ms"})
        EXPECT_EQ(miss.value(same, nlohmann::json()), hit.value(same, nlohmann::json())) << same;
    const ProcessResult shown = hearth({"show", miss.value("key", ""), "--json"});
    EXPECT_EQ(nlohmann::json::parse(shown.out, nullptr, false).value("bytes", 0), miss.value("bytes", -1)) << shown.err;
}

TEST_F(DropinLibrary, compiles_nothing_past_the_cache_where_that_is_forbidden)
{
    EXPECT_NE(plain(part("past")).out.find("compile 0"), std::string::npos);
    const ProcessResult refused = served(part("past"), {"--json", "--forbid-compile"});
    EXPECT_EQ(refused.exit_code, 0) << refused.err;
    EXPECT_EQ(refused.out.find("compile 0"), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("(precompiled headers), and compiling is forbidden"), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("callback), and compiling is forbidden"), std::string::npos) << refused.out;
    EXPECT_EQ(summary_of(refused).value("forbidden", 0), 3) << refused.err;
    EXPECT_EQ(summary_of(refused).value("past_the_cache", -1), 0) << refused.err;

    // Nor where there is no cache to ask.
    ProcessOptions nowhere = part("compiles");
    nowhere.environment["HEARTH_DIR"] = "/proc/no/such/place";
    const ProcessResult homeless = served(nowhere, {"--json", "--forbid-compile"});
    EXPECT_EQ(homeless.out.find("compile 0"), std::string::npos) << homeless.out;
    EXPECT_EQ(summary_of(homeless).value("past_the_cache", -1), 0) << homeless.err;
}

// As where a limit on processes is reached. The first compile stores, which would start a thread.
TEST_F(DropinLibrary, compiles_where_no_thread_can_be_had)
{
    const std::string none =
        build("none", "#include <errno.h>\nint pthread_create() { return EAGAIN; }\n", "-shared -fPIC");
    command = {"env", "LD_PRELOAD=" + none, program("own_new"), real};
    for (const char* count : {"compiled", "hits"}) {
        const ProcessResult result = served();
        EXPECT_EQ(result.out, "create 0 compile 0\n") << result.err;
        EXPECT_EQ(summary_of(result).value(count, 0), 1) << result.err;
    }
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
    const std::string asker =
        build("asker", "#include <dlfcn.h>\n#include <stdio.h>\n"
                       "int main(int n, char** v) { for (int i = 1; i < n; ++i) { void* l = dlopen(v[i], RTLD_NOW);\n"
                       "const char* real = l ? dlsym(l, \"hearth_real_library\") : dlerror();\n"
                       "printf(\"%s\\n\", real ? real : \"none\"); } return 0; }\n");
    const std::string other = std::string(HEARTH_DROPINS) + "/libnvJitLink.so.13";
    command = {asker, real, real, other};
    const ProcessResult result = served({}, {});
    EXPECT_EQ(result.out, real + "\n" + real + "\n\n") << result.err;
}

}  // namespace hearth::test
