// stats, gc, verify, clear, export and import: what operators do to a cache (33, 34, 70).
#include "command.hpp"
#include "support/eventually.hpp"
#include "support/open_cache.hpp"
#include "support/redis_server.hpp"

#include <csignal>
#include <fstream>
#include <set>

namespace hearth::test {

using Statistics = Command;
using Clean = Command;
using Verify = Command;
using Clear = Command;
using ExportAndImport = Command;

TEST_F(Statistics, are_exact_counts_of_every_process_in_json_and_in_words_until_they_are_reset)
{
    put("k", "bytes", {"--cost", "2s"});
    hearth({"get", "k"});
    hearth({"get", "k"});
    hearth({"get", "absent"});
    const auto stats = json_of({"stats", "--json"});
    EXPECT_TRUE(holds(stats, {{"lookups", 3}, {"hits", 2}, {"misses/absent", 1}, {"stores", 1}, {"evictions", 0}}));
    EXPECT_TRUE(holds(stats, {{"demotions", 0}, {"corrupt", 0}, {"outages", 0}}));
    EXPECT_DOUBLE_EQ(stats.at("hit_rate").get<double>(), 2.0 / 3.0);
    EXPECT_DOUBLE_EQ(stats.at("compile_seconds_saved").get<double>(), 4.0);
    EXPECT_DOUBLE_EQ(stats.at("compile_seconds_spent").get<double>(), 0.0);

    ASSERT_EQ(stats.at("tiers").size(), 2U);
    EXPECT_TRUE(holds(stats.at("tiers").at(0), {{"name", "memory"}, {"misses", 3}})) << "asked first, by three";
    const auto& disk = stats.at("tiers").at(1);
    EXPECT_TRUE(holds(disk, {{"name", "disk"}, {"entries", 1}, {"hits", 2}, {"misses", 1}, {"stores", 1}}));
    EXPECT_EQ(disk.at("evictions"), 0);
    EXPECT_GT(disk.at("capacity_bytes").get<std::uint64_t>(), 0U);
    EXPECT_GT(disk.at("used_bytes").get<std::uint64_t>(), 0U);
    for (const char* name : {"p50", "p99", "mean"}) {
        EXPECT_GT(disk.at("latency_seconds").at(name).get<double>(), 0.0) << name;
        EXPECT_GT(disk.at("miss_latency_seconds").at(name).get<double>(), 0.0) << name;
    }
    EXPECT_TRUE(ends_printing(hearth({"stats"}), 0, "lookups", "2 (66.7 %)", "disk", "compile time"));

    EXPECT_EQ(json_of({"stats", "--reset", "--json"}).at("hits"), 2) << "once more";
    EXPECT_TRUE(
        holds(json_of({"stats", "--json"}), {{"lookups", 0}, {"stores", 0}, {"hit_rate", 0.0}, {"tiers/1/entries", 1}}))
        << "entries are no statistics";
}

TEST_F(Clean, a_dry_run_says_what_would_go_and_why_and_removes_nothing)
{
    for (int i = 0; i < 5; ++i)
        put("k" + std::to_string(i), noise(1000));
    const auto before = json_lines_of({"ls", "--json"}).size();
    const auto report = json_of({"gc", "--dry-run", "--max-entries", "2", "--json"});
    EXPECT_TRUE(
        holds(report, {{"dry_run", true}, {"removed_entries", 0}, {"matched_entries", 3}, {"left_entries", 2}}));
    ASSERT_EQ(report.at("entries").size(), 3U);
    std::set<std::string> named;
    for (const auto& entry : report.at("entries")) {
        EXPECT_EQ(entry.at("why"), "over the limit");
        EXPECT_GE(entry.at("stored_bytes").get<std::uint64_t>(), 1000U);
        named.insert(entry.at("key").get<std::string>());
    }
    EXPECT_TRUE(ends_printing(hearth({"gc", "-n", "--max-entries", "2"}), 0, "Would remove 3 entries", "would be left",
                              "over the limit"));
    EXPECT_EQ(json_lines_of({"ls", "--json"}).size(), before);

    EXPECT_TRUE(holds(json_of({"gc", "--max-entries", "2", "--json"}),
                      {{"removed_entries", 3}, {"left_entries", 2}, {"removed_bytes", report.at("matched_bytes")}}));
    for (const auto& left : json_lines_of({"ls", "--json"}))
        EXPECT_FALSE(named.contains(left.at("key").get<std::string>())) << "what was named is what went";
}

// 6
TEST_F(Clean, entries_of_compilers_that_nobody_uses_any_more_go_when_asked)
{
    const auto store = [&](const std::string& label, const std::string& compiler, const std::string& build,
                           std::chrono::hours ago) {
        Cache opened = open_cache(cache.string());
        const Request request = KeyBuilder("test").text("compiler build", build).text("source", label).build();
        Artifact artifact(noise(1000));
        artifact.metadata = {.label = label, .compiler = compiler};
        artifact.request = request.encoding();
        artifact.created = std::chrono::time_point_cast<WallTime::duration>(std::chrono::system_clock::now() - ago);
        ASSERT_TRUE(opened.insert(request, artifact).ok());
    };
    using namespace std::chrono_literals;
    store("old-1", "nvrtc 12.0", "aa", 24h * 100);
    store("old-2", "nvrtc 12.0", "aa", 24h * 90);
    store("rebuilt", "nvrtc 12.0", "bb", 1h);
    store("rare", "nvrtc 13.0", "cc", 24h * 200);
    store("new", "nvrtc 13.0", "cc", 1h);
    put("opaque", "bytes");

    const auto dry = json_of({"gc", "--dry-run", "--gone-compilers", "30d", "--json"});
    ASSERT_EQ(dry.at("gone_compilers").size(), 1U);
    EXPECT_TRUE(holds(dry.at("gone_compilers").at(0), {{"name", "nvrtc 12.0"}, {"build", "aa"}, {"entries", 2}}));
    EXPECT_TRUE(holds(dry, {{"matched_entries", 2}, {"entries/0/why", "compiler gone"}}));
    EXPECT_TRUE(ends_printing(hearth({"gc", "--dry-run", "--gone-compilers", "30d"}), 0, "COMPILER", "nvrtc 12.0",
                              " d ago", "Would remove 2 entries"));
    EXPECT_EQ(json_lines_of({"ls", "--json"}).size(), 6U);

    EXPECT_TRUE(holds(json_of({"gc", "--gone-compilers", "30d", "--json"}),
                      {{"removed_entries", 2}, {"removed_bytes", dry.at("matched_bytes")}, {"left_entries", 4}}));
    std::set<std::string> labels;
    for (const auto& row : json_lines_of({"ls", "--json"}))
        labels.insert(row.at("label").get<std::string>());
    EXPECT_EQ(labels, (std::set<std::string>{"rebuilt", "rare", "new", "opaque"}))
        << "what a compiler in use compiled long ago stays, and so does what names none";
    EXPECT_EQ(json_of({"gc", "--gone-compilers", "30d", "--json"}).at("removed_entries"), 0);
    EXPECT_EQ(hearth({"gc", "--gone-compilers", "30d", "--max-bytes", "1K"}).exit_code, 2);
}

TEST_F(Clean, without_options_goes_by_the_configured_limits)
{
    put("k", "bytes");
    EXPECT_TRUE(ends_printing(hearth({"gc"}), 0, "Removed 0 entries"));
    EXPECT_EQ(json_of({"gc", "--older-than", "30d", "--json"}).at("removed_entries"), 0) << "what is young stays";
    for (int i = 0; i < 4; ++i)
        put("k" + std::to_string(i), noise(1000));
    EXPECT_TRUE(ends_printing(hearth({"gc"}, {.environment = {{"HEARTH_MAX_ENTRIES", "3"}}}), 0, "Removed 2 entries"));
    EXPECT_EQ(json_lines_of({"ls", "--json"}).size(), 3U);
}

TEST_F(Clean, what_lies_beside_the_entries_is_shown_and_goes_with_clear)
{
    put("k", "bytes");
    const std::filesystem::path quarantine = cache / "quarantine";
    std::filesystem::create_directory(quarantine);
    std::ofstream(quarantine / std::string(64, 'a')) << noise(5000);
    EXPECT_TRUE(ends_printing(hearth({"doctor"}), 0, "4.9 KiB in quarantine"));
    EXPECT_EQ(json_of({"gc", "--json"}).at("left_aside_bytes"), 5000);
    EXPECT_TRUE(ends_printing(hearth({"gc"}), 0, "4.9 KiB more in quarantine"));
    EXPECT_EQ(json_of({"clear", "--yes", "--json"}).at("removed_aside_bytes"), 5000);
    EXPECT_TRUE(std::filesystem::is_empty(quarantine));
}

// Which texts are sizes and times at all: tests/base/units_test.cpp.
TEST_F(Clean, sizes_times_and_counts_that_are_none_are_wrong_usage)
{
    for (const char* option : {"--max-bytes=", "--max-bytes=0", "--max-bytes=10Q", "--older-than=", "--older-than=soon",
                               "--max-entries=", "--max-entries=0", "--max-entries=-1", "--max-entries=1.5"})
        EXPECT_EQ(hearth({"gc", option}).exit_code, 2) << option;
    EXPECT_EQ(hearth({"gc", "--max-bytes", "1.5 gb"}).exit_code, 0);
}

TEST_F(Verify, an_intact_cache_exits_0_and_corruption_1_until_it_is_repaired)
{
    put("damaged", noise(50000));
    put("intact", "bytes");
    EXPECT_TRUE(holds(json_of({"verify", "--json"}),
                      {{"exit", 0}, {"checked", 2}, {"intact", 2}, {"corrupt", 0}, {"accounting_exact", true}}));
    flip(largest_file(), 25000);
    EXPECT_TRUE(ends_saying(hearth({"verify"}), 1, "--repair"));

    EXPECT_TRUE(
        holds(object_of(hearth({"verify", "--repair", "--json"})), {{"exit", 0}, {"corrupt", 1}, {"removed", 1}}));
    EXPECT_EQ(hearth({"verify"}).exit_code, 0);
    EXPECT_EQ(hearth({"get", "damaged"}).exit_code, 1);
    EXPECT_EQ(hearth({"get", "intact"}).out, "bytes");
}

TEST_F(Verify, entries_without_a_trusted_signature_are_retired_where_signatures_are_demanded)
{
    put("of 0.2.0", "bytes");
    ASSERT_EQ(hearth({"keygen", "build.key"}).exit_code, 0);
    given["HEARTH_SIGN_WITH"] = (scratch / "build.key").string();
    put("signed", "signed bytes");
    EXPECT_TRUE(holds(object_of(hearth({"verify", "--json"})), {{"exit", 1}, {"untrusted", 1}}));
    EXPECT_TRUE(holds(object_of(hearth({"verify", "--repair", "--json"})), {{"removed", 1}, {"repaired", true}}));
    EXPECT_EQ(hearth({"verify"}).exit_code, 0);
    given.clear();
    EXPECT_EQ(hearth({"get", "of 0.2.0"}).exit_code, 1);
    EXPECT_EQ(hearth({"get", "signed"}).out, "signed bytes");
}

TEST_F(Clear, needs_to_be_told_yes_where_it_cannot_ask)
{
    put("k", "bytes");
    EXPECT_TRUE(ends_saying(hearth({"clear"}), 2, "--yes"));
    EXPECT_EQ(hearth({"get", "k"}).exit_code, 0);

    EXPECT_EQ(json_of({"clear", "--yes", "--json"}).at("removed_entries"), 1);
    EXPECT_EQ(hearth({"get", "k"}).exit_code, 1);
    EXPECT_EQ(json_of({"stats", "--json"}).at("tiers").at(1).at("used_bytes"), 0);
}

TEST_F(ExportAndImport, entries_move_to_another_directory_with_their_metadata)
{
    put("a", noise(10000), {"--target", "sm_90", "--cost", "3s"});
    put("b", "2");
    EXPECT_TRUE(ends_printing(hearth({"export", "all.hearth"}), 0, "2 entries"));
    hearth({"clear", "--yes"});

    const std::string other = (scratch / "other machine").string();
    EXPECT_TRUE(holds(json_of({"--dir", other, "import", "all.hearth", "--json"}), {{"entries", 2}, {"rejected", 0}}));
    EXPECT_EQ(hearth({"--dir", other, "get", "a"}).out, noise(10000));
    EXPECT_TRUE(holds(json_of({"--dir", other, "show", "a", "--json"}), {{"target", "sm_90"}, {"cost_seconds", 3.0}}));
    EXPECT_EQ(json_of({"--dir", other, "import", "all.hearth", "--json"}).at("already_there"), 2);
}

TEST_F(ExportAndImport, a_damaged_entry_is_rejected_and_said_and_the_others_arrive)
{
    put("damaged", noise(50000));
    put("intact", "bytes");
    ASSERT_EQ(hearth({"export", "all.hearth"}).exit_code, 0);
    flip(scratch / "all.hearth", read(scratch / "all.hearth").find(noise(50000).substr(20000, 64)));
    const std::string other = (scratch / "other").string();
    const ProcessResult imported = hearth({"--dir", other, "import", "all.hearth", "--json"});
    EXPECT_TRUE(holds(object_of(imported), {{"exit", 1}, {"rejected", 1}}));
    EXPECT_NE(imported.err, "") << "each rejected entry is said";
    EXPECT_EQ(hearth({"--dir", other, "get", "damaged"}).exit_code, 1);
    EXPECT_EQ(hearth({"--dir", other, "get", "intact"}).out, "bytes");
}

TEST_F(ExportAndImport, a_file_that_is_no_export_is_a_failure_with_a_sentence)
{
    write("letter.txt", "Dear cache, ...");
    write("empty", "");
    for (const char* file : {"letter.txt", "empty", "no-such-file", "."})
        EXPECT_TRUE(is_refused(hearth({"import", file}), 3)) << file;
}

namespace {

class ToBeStopped : public Command {
protected:
    void fill()
    {
        for (int i = 0; i < 24; ++i)
            put("k" + std::to_string(i), noise(1 << 18));
    }

    std::ptrdiff_t files() const { return std::distance(std::filesystem::directory_iterator(scratch), {}); }
};

class Stopped : public ToBeStopped {
protected:
    void SetUp() override
    {
        fill();
        ASSERT_EQ(hearth({"export", "all.hearth"}).exit_code, 0);
    }

    void fill_again() { ASSERT_EQ(hearth({"import", "all.hearth"}).exit_code, 0); }
    void empty_again() { ASSERT_EQ(hearth({"clear", "--yes"}).exit_code, 0); }

    // Ctrl-C is 130, SIGTERM 143; no file is left behind, and what is in the cache is whole and counted.
    void expect_stops(const Words& words, const std::function<void()>& prepare,
                      const std::map<std::string, std::string>& environment = {})
    {
        SCOPED_TRACE(words[0]);
        const auto before = files();
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
            EXPECT_EQ(stopped_at_work(words, signal, prepare, environment), 128 + signal);
            EXPECT_EQ(files(), before);
            EXPECT_TRUE(std::filesystem::is_empty(cache / "v1" / "tmp"));
            EXPECT_TRUE(
                holds(json_of({"verify", "--json"}), {{"accounting_exact", true}, {"corrupt", 0}, {"stray", 0}}));
        }
    }
};

}  // namespace

TEST_F(Stopped, import_leaves_whole_entries_only)
{
    expect_stops({"import", "all.hearth"}, [&] { empty_again(); });
}

TEST_F(Stopped, gc_and_rm_leave_the_rest_as_it_was)
{
    expect_stops({"gc", "--max-entries", "1"}, [&] { fill_again(); });
    expect_stops({"gc", "--older-than", "1s", "--max-entries", "1"}, [&] { fill_again(); });
    expect_stops({"rm", "k*"}, [&] { fill_again(); });
}

TEST_F(Stopped, verify_changes_nothing)
{
    expect_stops({"verify"}, [] {});
    expect_stops({"verify", "--repair"}, [] {});
    EXPECT_EQ(json_lines_of({"ls", "--json"}).size(), 24U);
}

TEST_F(Stopped, push_and_pull_leave_whole_entries_only)
{
    if (!has_redis())
        GTEST_SKIP() << "redis-server is not installed";
    const RedisServer server;
    const std::string remote = "redis://127.0.0.1:" + std::to_string(server.port());
    expect_stops({"push"}, [] {}, {{"HEARTH_REMOTE", remote}});
    ASSERT_EQ(hearth({"push"}, {.environment = {{"HEARTH_REMOTE", remote}}}).exit_code, 0);
    expect_stops({"pull"}, [&] { empty_again(); }, {{"HEARTH_REMOTE", remote}});
}

namespace {

// Commands that write entries into a file of their own kind.
class Written : public ToBeStopped, public testing::WithParamInterface<const char*> {
protected:
    ProcessResult into(const std::string& file, const Words& more = {})
    {
        return hearth(joined(joined(words_of(GetParam()), {file}), more));
    }
};

}  // namespace

TEST_P(Written, file_holds_what_matches_and_replaces_one_of_its_kind_by_something)
{
    EXPECT_TRUE(ends_saying(into("keep"), 1, "nothing in the cache"));
    EXPECT_FALSE(std::filesystem::exists(scratch / "keep"));
    put("k", "bytes");
    ASSERT_EQ(into("keep").exit_code, 0);
    const std::string before = read(scratch / "keep");
    EXPECT_TRUE(ends_saying(into("keep", {"--dir", "typo"}), 1, "There is nothing in the cache"));
    EXPECT_EQ(read(scratch / "keep"), before);
    put("more", "bytes");
    EXPECT_TRUE(holds(object_of(into("keep", {"mor*", "--json"})), {{"exit", 0}, {"entries", 1}, {"rejected", 0}}));
    EXPECT_NE(read(scratch / "keep"), before);
    EXPECT_EQ(into("none", {"zzz*"}).exit_code, 1);
    EXPECT_FALSE(std::filesystem::exists(scratch / "none"));
    EXPECT_TRUE(ends_saying(into("no/such/folder/file"), 3, "no/such/folder/file"));
}

TEST_P(Written, file_replaces_nothing_else)
{
    put("k", "bytes");
    write("letter.txt", "Dear cache, ...");
    const bool is_export = GetParam() == std::string("export");
    EXPECT_TRUE(ends_saying(into("letter.txt"), 3, is_export ? "is not an export" : "is not a bundle"));
    EXPECT_EQ(read(scratch / "letter.txt"), "Dear cache, ...");
    // Its first byte can be read by nobody, not even by root.
    EXPECT_TRUE(ends_saying(into("/proc/self/mem"), 3, "exists and cannot be read"));
    // And all else that is no file of its own: tests/base/placed_file_test.cpp.
    EXPECT_TRUE(ends_saying(into("."), 3, "cannot be replaced by a file"));
}

TEST_P(Written, file_is_not_left_behind_by_a_command_that_is_stopped)
{
    fill();
    const auto before = files();
    const Words words = joined(words_of(GetParam()), {"out"});
    for (const int signal : {SIGINT, SIGTERM}) {
        // It may be done before it is stopped, and then it is asked again.
        std::optional<int> code;
        for (int attempt = 0; attempt < 100 && code.value_or(0) == 0; ++attempt) {
            std::filesystem::remove(scratch / "out");
            code = stopped(words, signal, [&] { return files() > before; });
        }
        EXPECT_EQ(code, 128 + signal);
        EXPECT_EQ(files(), before) << "beside what was there";
    }
}

INSTANTIATE_TEST_SUITE_P(kinds, Written, testing::Values("export", "bundle create"),
                         [](const auto& kind) { return words_of(kind.param).front(); });

TEST_F(Clean, counts_what_has_expired)
{
    put("k", "bytes");
    const ProcessOptions brief{.environment = {{"HEARTH_MAX_AGE", "1s"}}};
    EXPECT_TRUE(eventually("it has expired", [&] {
        return json_of({"gc", "--json"}, brief).at("removed_entries") == 1;
    }));
    EXPECT_TRUE(json_lines_of({"ls", "--json"}).empty());
}

}  // namespace hearth::test
