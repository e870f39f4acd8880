// Programs that use NVRTC and know nothing of Hearth: what they see with `hearth run` is what they see without (56).
#include "hearth/libraries.hpp"
#include "tools/command.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

std::string program(const std::string& name)
{
    return std::string(HEARTH_PROGRAMS) + "/" + name;
}

std::string real_library()
{
    return find_library({"libnvrtc.so.13", "libnvrtc.so.12"});
}

// Beside a driver NVRTC has a cache of its own.
ProcessOptions honest(ProcessOptions options)
{
    options.environment["CUDA_CACHE_DISABLE"] = "1";
    options.environment["LD_LIBRARY_PATH"] = fs::path(real_library()).parent_path().string();
    return options;
}

struct Door {
    std::string name;
    std::string program;
    std::string library{};  // what is dlopened: a soname, a plain name, "path" for the library's own
};

void PrintTo(const Door& door, std::ostream* out)
{
    *out << door.name;
}

class Dropin : public Command, public testing::WithParamInterface<Door> {
protected:
    void SetUp() override
    {
        if (std::string(HEARTH_DROPINS).empty())
            GTEST_SKIP() << "The drop-in libraries are not built here.";
        if (real_library().empty())
            GTEST_SKIP() << "No libnvrtc is installed.";
        if (!fs::exists(program(GetParam().program)))
            GTEST_SKIP() << "No libnvrtc was there to link with when the tests were built.";
    }
    std::vector<std::string> command() const
    {
        std::vector<std::string> words{program(GetParam().program)};
        if (GetParam().library == "path")
            words.push_back(real_library());
        else if (!GetParam().library.empty())
            words.push_back(GetParam().library);
        return words;
    }
    ProcessResult plain(ProcessOptions options = {})
    {
        options.directory = scratch.string();
        return run_process(command(), honest(std::move(options)));
    }
    ProcessResult served(std::vector<std::string> words, ProcessOptions options = {})
    {
        words.insert(words.begin(), "run");
        words.emplace_back("--");
        const std::vector<std::string> rest = command();
        words.insert(words.end(), rest.begin(), rest.end());
        return hearth(words, honest(std::move(options)));
    }
};

}  // namespace

TEST_P(Dropin, is_not_to_be_told_from_the_real_library_on_a_miss_and_on_a_hit)
{
    const ProcessResult without = plain();
    ASSERT_EQ(without.exit_code, 0) << without.err;
    ASSERT_NE(without.out.find("destroy 0"), std::string::npos);
    const ProcessResult miss = served({"--json"});
    EXPECT_EQ(miss.exit_code, 0) << miss.err;
    EXPECT_EQ(miss.out, without.out);
    EXPECT_GT(summary_of(miss).value("compiled", 0), 10) << miss.err;
    const ProcessResult hit = served({"--json"});
    EXPECT_EQ(hit.out, without.out);
    EXPECT_EQ(summary_of(hit).value("compiled", -1), 0) << hit.err;
    EXPECT_GT(summary_of(hit).value("hits", 0), 10) << hit.err;
    EXPECT_GT(summary_of(hit).value("saved_seconds", 0.0), 0) << hit.err;
}

TEST_P(Dropin, answers_hits_without_the_compiler)
{
    ProcessOptions compiles;
    compiles.environment["EVERY_CALL_PART"] = "compiles";
    const ProcessResult without = plain(compiles);
    EXPECT_NE(without.err.find(fs::path(real_library()).filename().string()), std::string::npos) << without.err;
    ASSERT_EQ(served({}, compiles).exit_code, 0);
    const ProcessResult hit = served({}, compiles);
    EXPECT_EQ(hit.out, without.out);
    // By its name or by that of what it stands in for: one library, the drop-in, and no built-in headers.
    EXPECT_EQ(std::count(hit.err.begin(), hit.err.end(), '\n'), 1) << hit.err;
    EXPECT_NE(hit.err.find("dropin"), std::string::npos) << hit.err;
}

TEST_P(Dropin, changes_nothing_when_it_is_turned_off_or_its_directory_cannot_be_used)
{
    const ProcessResult without = plain();
    ProcessOptions off;
    off.environment["HEARTH_DISABLE"] = "1";
    const ProcessResult disabled = served({}, off);
    EXPECT_EQ(disabled.out, without.out);
    EXPECT_EQ(disabled.err, "");
    ProcessOptions nowhere;
    nowhere.environment["HEARTH_DIR"] = "/proc/no/such/place";
    const ProcessResult homeless = served({}, nowhere);
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

class DropinCode : public Command {
protected:
    // A program of its own, of C that is built here.
    std::string build(const std::string& name, const std::string& source)
    {
        const std::string file = write(name + ".c", source).string();
        const std::string built = (scratch / name).string();
        EXPECT_EQ(run_process({"/bin/sh", "-c", "cc -o " + built + " " + file + " -ldl"}).exit_code, 0);
        return built;
    }
};

// With sanitizers this is where they look into it.
TEST_F(DropinCode, gives_inside_one_program_what_the_real_library_gives)
{
    if (real_library().empty())
        GTEST_SKIP() << "No libnvrtc is installed.";
    ProcessOptions options;
    options.limit = std::chrono::seconds(300);
    options.environment = {
        {"HEARTH_DIR", cache.string()}, {"HEARTH_NVRTC", real_library()}, {"CUDA_CACHE_DISABLE", "1"}};
    ProcessResult without = run_process({program("every_call"), real_library()}, options);
    // What comes after is of a library that was closed and opened again, which is not to be had inside a program.
    without.out.resize(without.out.find("close "));
    for (const char* time : {"miss", "hit"}) {
        const ProcessResult with = run_process({program("every_call_inside")}, options);
        EXPECT_EQ(with.exit_code, 0) << with.err;
        EXPECT_EQ(with.out, without.out) << time;
    }
}

TEST_F(DropinCode, needs_nothing_but_libc_and_shows_nothing_but_what_it_stands_for)
{
    if (std::string(HEARTH_DROPINS).empty())
        GTEST_SKIP() << "The drop-in libraries are not built here.";
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

TEST_F(DropinCode, leaves_a_library_alone_that_is_newer_than_it_knows)
{
    if (std::string(HEARTH_DROPINS).empty())
        GTEST_SKIP() << "The drop-in libraries are not built here.";
    const std::string asker = build("newer", "#include <dlfcn.h>\n#include <stdio.h>\n"
                                             "int main(int n, char** v) { void* l = dlopen(v[1], RTLD_NOW);\n"
                                             "int (*f)(void) = (int (*)(void))dlsym(l, \"nvrtcDoSomethingNew\");\n"
                                             "printf(\"%d\\n\", f ? f() : -1); return n - 2; }\n");
    const ProcessResult result = hearth({"run", "--", asker, std::string(HEARTH_NEWER_NVRTC) + "/libnvrtc.so.13"});
    EXPECT_EQ(result.out, "42\n");
    EXPECT_NE(result.err.find("nvrtcDoSomethingNew"), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    const ProcessResult quiet = hearth({"run", "--", asker, std::string(HEARTH_NEWER_NVRTC) + "/libnvrtc.so.13"},
                                       {.environment = {{"HEARTH_QUIET", "1"}}});
    EXPECT_EQ(quiet.out, "42\n");
    EXPECT_EQ(quiet.err, "");
    const ProcessResult not_quiet = hearth({"run", "--", asker, std::string(HEARTH_NEWER_NVRTC) + "/libnvrtc.so.13"},
                                           {.environment = {{"HEARTH_QUIET", "0"}}});
    EXPECT_EQ(not_quiet.err, result.err);
}

class DropinLibrary : public DropinCode {
protected:
    void SetUp() override
    {
        if (std::string(HEARTH_DROPINS).empty())
            GTEST_SKIP() << "The drop-in libraries are not built here.";
        if (real_library().empty())
            GTEST_SKIP() << "No libnvrtc is installed.";
    }
    std::string dropin() const
    {
        const bool of_12 = real_library().find(".so.12") != std::string::npos;
        return std::string(HEARTH_DROPINS) + (of_12 ? "/libnvrtc.so.12" : "/libnvrtc.so.13");
    }
};

TEST_F(DropinLibrary, answers_programs_that_ask_for_automatic_precompiled_headers)
{
    ProcessOptions options = honest({});
    options.environment["EVERY_CALL_PART"] = "pch";
    const std::vector<std::string> command{program("every_call"), real_library()};
    const auto ptx_of = [](const std::string& out) { return out.substr(out.find("  ptx size"), 50); };
    const ProcessResult without = run_process(command, options);
    for (const char* outcome : {"compiled", "hits"}) {
        const ProcessResult with = hearth({"run", "--json", "--", command[0], command[1]}, options);
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
    ProcessOptions options = honest({});
    options.environment["EVERY_CALL_PART"] = "pch";
    const auto noted = [&](const std::string& log) {
        // What was in the file before is gone.
        write(log, "old\n");
        EXPECT_EQ(hearth({"run", "--log", log, "--", program("every_call"), real_library()}, options).err, "");
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
    const ProcessResult shown = hearth({"show", miss.value("key", ""), "--json"}, options);
    EXPECT_EQ(nlohmann::json::parse(shown.out, nullptr, false).value("bytes", 0), miss.value("bytes", -1)) << shown.err;
}

TEST_F(DropinLibrary, compiles_nothing_past_the_cache_where_that_is_forbidden)
{
    ProcessOptions options = honest({});
    options.environment["EVERY_CALL_PART"] = "past";
    const std::vector<std::string> command{program("every_call"), real_library()};
    EXPECT_NE(run_process(command, options).out.find("compile 0"), std::string::npos);
    const ProcessResult refused = hearth({"run", "--json", "--forbid-compile", "--", command[0], command[1]}, options);
    EXPECT_EQ(refused.exit_code, 0) << refused.err;
    EXPECT_EQ(refused.out.find("compile 0"), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("(precompiled headers), and compiling is forbidden"), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("callback), and compiling is forbidden"), std::string::npos) << refused.out;
    EXPECT_EQ(summary_of(refused).value("forbidden", 0), 3) << refused.err;
    EXPECT_EQ(summary_of(refused).value("past_the_cache", -1), 0) << refused.err;

    // Nor where there is no cache to ask.
    options.environment["EVERY_CALL_PART"] = "compiles";
    options.environment["HEARTH_DIR"] = "/proc/no/such/place";
    const ProcessResult homeless = hearth({"run", "--json", "--forbid-compile", "--", command[0], command[1]}, options);
    EXPECT_EQ(homeless.out.find("compile 0"), std::string::npos) << homeless.out;
    EXPECT_EQ(summary_of(homeless).value("past_the_cache", -1), 0) << homeless.err;
}

// As where a limit on processes is reached. The first compile stores, which would start a thread.
TEST_F(DropinLibrary, compiles_where_no_thread_can_be_had)
{
    const std::string source =
        write("none.c", "#include <errno.h>\nint pthread_create() { return EAGAIN; }\n").string();
    const std::string none = (scratch / "none.so").string();
    ASSERT_EQ(run_process({"/bin/sh", "-c", "cc -shared -fPIC -o " + none + " " + source}).exit_code, 0);
    const std::vector<std::string> command{
        "run", "--json", "--", "env", "LD_PRELOAD=" + none, program("own_new"), real_library()};
    for (const char* count : {"compiled", "hits"}) {
        const ProcessResult result = hearth(command);
        EXPECT_EQ(result.out, "create 0 compile 0\n") << result.err;
        EXPECT_EQ(summary_of(result).value(count, 0), 1) << result.err;
    }
}

TEST_F(DropinLibrary, is_found_by_a_relative_path_after_the_program_has_gone_elsewhere)
{
    fs::create_directory_symlink(fs::path(real_library()).parent_path(), scratch / "libs");
    ProcessOptions options = honest({});
    options.environment["EVERY_CALL_GOES_TO"] = "/";
    options.directory = scratch.string();
    const std::string name = fs::path(real_library()).filename().string();
    const ProcessResult without = run_process({program("every_call"), "libs/" + name}, options);
    ASSERT_EQ(without.exit_code, 0) << without.err;
    EXPECT_EQ(hearth({"run", "--", program("every_call"), "libs/" + name}, options).out, without.out);
    // By a search path, and as the variable names it where there is no audit library.
    options.environment["LD_LIBRARY_PATH"] = "libs";
    EXPECT_EQ(hearth({"run", "--", program("every_call"), name}, options).out, without.out);
    options.environment["LD_LIBRARY_PATH"] = "libs:" + fs::path(real_library()).parent_path().string();
    options.environment["HEARTH_NVRTC"] = "libs/" + name;
    options.environment["HEARTH_DIR"] = cache.string();
    EXPECT_EQ(run_process({program("every_call"), dropin()}, options).out, without.out);
}

TEST_F(DropinLibrary, never_takes_itself_or_a_copy_for_the_real_one)
{
    ProcessOptions options = honest({});
    options.environment["EVERY_CALL_PART"] = "compiles";
    options.environment["HEARTH_DIR"] = cache.string();
    const std::string name = fs::path(dropin()).filename().string();
    const ProcessResult without = run_process({program("every_call"), real_library()}, options);
    fs::create_directory(scratch / "copy");
    fs::copy_file(dropin(), scratch / "copy" / name);
    options.environment["LD_LIBRARY_PATH"] = std::string(HEARTH_DROPINS) + ":" + (scratch / "copy").string() + ":" +
                                             fs::path(real_library()).parent_path().string();
    for (const std::string& named : {dropin(), (scratch / "copy" / name).string(), std::string()}) {
        options.environment["HEARTH_NVRTC"] = named;
        const ProcessResult result = run_process({program("every_call"), name}, options);
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
    const ProcessResult result = hearth({"run", "--", asker, real_library(), real_library(), other});
    EXPECT_EQ(result.out, real_library() + "\n" + real_library() + "\n\n") << result.err;
}

}  // namespace hearth::test
