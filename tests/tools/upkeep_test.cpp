// stats, gc, verify, clear, export and import: what operators do to a cache (33, 34, 70).
#include "command.hpp"
#include "support/redis_server.hpp"

#include "hearth/cache.hpp"

#include <csignal>
#include <fstream>
#include <set>

#include <sys/stat.h>

namespace hearth::test {

using Statistics = Command;
using Clean = Command;
using Verify = Command;
using Clear = Command;
using ExportAndImport = Command;

TEST_F(Statistics, json_is_one_object_with_exact_counts_of_every_process)
{
    EXPECT_DOUBLE_EQ(json_of({"stats", "--json"}).at("hit_rate").get<double>(), 0.0);
    put("k", "bytes", {"--cost", "2s"});
    hearth({"get", "k"});
    hearth({"get", "k"});
    hearth({"get", "absent"});
    const auto stats = json_of({"stats", "--json"});
    EXPECT_EQ(stats.at("lookups"), 3);
    EXPECT_EQ(stats.at("hits"), 2);
    EXPECT_EQ(stats.at("misses").at("absent"), 1);
    EXPECT_EQ(stats.at("stores"), 1);
    EXPECT_DOUBLE_EQ(stats.at("hit_rate").get<double>(), 2.0 / 3.0);
    EXPECT_DOUBLE_EQ(stats.at("compile_seconds_saved").get<double>(), 4.0);
    EXPECT_DOUBLE_EQ(stats.at("compile_seconds_spent").get<double>(), 0.0);
    for (const char* name : {"evictions", "demotions", "corrupt", "outages"})
        EXPECT_EQ(stats.at(name), 0) << name;

    const auto& tiers = stats.at("tiers");
    ASSERT_EQ(tiers.size(), 2U);
    EXPECT_EQ(tiers.at(0).at("name"), "memory") << "in lookup order";
    const auto& disk = tiers.at(1);
    EXPECT_EQ(disk.at("name"), "disk");
    EXPECT_GT(disk.at("capacity_bytes").get<std::uint64_t>(), 0U);
    EXPECT_GT(disk.at("used_bytes").get<std::uint64_t>(), 0U);
    EXPECT_EQ(disk.at("entries"), 1);
    EXPECT_EQ(disk.at("hits"), 2);
    EXPECT_EQ(disk.at("stores"), 1);
    EXPECT_EQ(disk.at("evictions"), 0);
    EXPECT_EQ(disk.at("misses"), 1);
    EXPECT_EQ(tiers.at(0).at("misses"), 3) << "memory was asked first, in three processes";
    for (const char* name : {"p50", "p99", "mean"}) {
        EXPECT_GT(disk.at("latency_seconds").at(name).get<double>(), 0.0) << name;
        EXPECT_GT(disk.at("miss_latency_seconds").at(name).get<double>(), 0.0) << name;
    }
}

TEST_F(Statistics, reset_shows_them_once_more_and_starts_again)
{
    put("k", "bytes");
    hearth({"get", "k"});
    EXPECT_EQ(json_of({"stats", "--reset", "--json"}).at("hits"), 1);
    const auto after = json_of({"stats", "--json"});
    EXPECT_EQ(after.at("lookups"), 0);
    EXPECT_EQ(after.at("stores"), 0);
    EXPECT_EQ(after.at("tiers").at(1).at("entries"), 1) << "entries are no statistics";
}

TEST_F(Statistics, people_see_the_same_in_words)
{
    put("k", "bytes");
    hearth({"get", "k"});
    const ProcessResult result = hearth({"stats"});
    EXPECT_EQ(result.exit_code, 0);
    for (const char* text : {"lookups", "1 (100.0 %)", "disk", "compile time"})
        EXPECT_NE(result.out.find(text), std::string::npos) << text << " in\n" << result.out;
}

TEST_F(Clean, a_dry_run_says_what_would_go_and_why_and_removes_nothing)
{
    for (int i = 0; i < 5; ++i)
        put("k" + std::to_string(i), noise(1000));
    const auto before = json_lines_of({"ls", "--json"}).size();
    const auto report = json_of({"gc", "--dry-run", "--max-entries", "2", "--json"});
    EXPECT_EQ(report.at("dry_run"), true);
    EXPECT_EQ(report.at("removed_entries"), 0);
    EXPECT_EQ(report.at("matched_entries"), 3);
    EXPECT_EQ(report.at("left_entries"), 2);
    ASSERT_EQ(report.at("entries").size(), 3U);
    std::set<std::string> named;
    for (const auto& entry : report.at("entries")) {
        EXPECT_EQ(entry.at("why"), "over the limit");
        EXPECT_GE(entry.at("stored_bytes").get<std::uint64_t>(), 1000U);
        named.insert(entry.at("key").get<std::string>());
    }
    const ProcessResult people = hearth({"gc", "-n", "--max-entries", "2"});
    EXPECT_NE(people.out.find("Would remove 3 entries"), std::string::npos) << people.out;
    EXPECT_NE(people.out.find("would be left"), std::string::npos) << people.out;
    EXPECT_NE(people.out.find("over the limit"), std::string::npos) << people.out;
    EXPECT_EQ(json_lines_of({"ls", "--json"}).size(), before);

    const auto done = json_of({"gc", "--max-entries", "2", "--json"});
    EXPECT_EQ(done.at("removed_entries"), 3);
    EXPECT_EQ(done.at("left_entries"), 2);
    EXPECT_EQ(done.at("removed_bytes"), report.at("matched_bytes"));
    for (const auto& left : json_lines_of({"ls", "--json"}))
        EXPECT_FALSE(named.contains(left.at("key").get<std::string>())) << "what was named is what went";
}

// 6
TEST_F(Clean, entries_of_compilers_that_nobody_uses_any_more_go_when_asked)
{
    const auto store = [&](const std::string& label, const std::string& compiler, const std::string& build,
                           std::chrono::hours ago) {
        CacheOptions options;
        options.directory = cache.string();
        options.maintenance = Maintenance::by_hand;
        Cache opened = Cache::open(options).value();
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
    EXPECT_EQ(dry.at("gone_compilers").at(0).at("name"), "nvrtc 12.0");
    EXPECT_EQ(dry.at("gone_compilers").at(0).at("build"), "aa");
    EXPECT_EQ(dry.at("gone_compilers").at(0).at("entries"), 2);
    EXPECT_EQ(dry.at("matched_entries"), 2);
    EXPECT_EQ(dry.at("entries").at(0).at("why"), "compiler gone");
    const ProcessResult people = hearth({"gc", "--dry-run", "--gone-compilers", "30d"});
    for (const char* text : {"COMPILER", "nvrtc 12.0", " d ago", "Would remove 2 entries"})
        EXPECT_NE(people.out.find(text), std::string::npos) << text << " in\n" << people.out;
    EXPECT_EQ(json_lines_of({"ls", "--json"}).size(), 6U);

    const auto done = json_of({"gc", "--gone-compilers", "30d", "--json"});
    EXPECT_EQ(done.at("removed_entries"), 2);
    EXPECT_EQ(done.at("removed_bytes"), dry.at("matched_bytes"));
    EXPECT_EQ(done.at("left_entries"), 4);
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
    EXPECT_NE(hearth({"gc"}, {.environment = {{"HEARTH_MAX_ENTRIES", "3"}}}).out.find("Removed 2 entries"),
              std::string::npos);
    EXPECT_EQ(json_lines_of({"ls", "--json"}).size(), 3U);
}

TEST_F(Clean, what_lies_beside_the_entries_is_shown_and_goes_with_clear)
{
    put("k", "bytes");
    const std::filesystem::path quarantine = cache / "quarantine";
    std::filesystem::create_directory(quarantine);
    std::ofstream(quarantine / std::string(64, 'a')) << noise(5000);
    EXPECT_NE(hearth({"doctor"}).out.find("4.9 KiB in quarantine"), std::string::npos);
    EXPECT_EQ(json_of({"gc", "--json"}).at("left_aside_bytes"), 5000);
    EXPECT_NE(hearth({"gc"}).out.find("4.9 KiB more in quarantine"), std::string::npos);
    EXPECT_EQ(json_of({"clear", "--yes", "--json"}).at("removed_aside_bytes"), 5000);
    EXPECT_TRUE(std::filesystem::is_empty(quarantine));
}

TEST_F(Clean, sizes_and_times_that_are_none_are_wrong_usage)
{
    for (const char* size : {"", "0", "-1", "1", "1073741824", "10Q", "G", "1e9", "nan", "99999999999T"})
        EXPECT_EQ(hearth({"gc", "--max-bytes=" + std::string(size)}).exit_code, 2) << size;
    for (const char* time : {"", "soon", "-5d", "30y", "d"})
        EXPECT_EQ(hearth({"gc", "--older-than=" + std::string(time)}).exit_code, 2) << time;
    for (const char* count : {"", "0", "-1", "1.5", "many"})
        EXPECT_EQ(hearth({"gc", "--max-entries=" + std::string(count)}).exit_code, 2) << count;
    for (const char* size : {"1B", "10G", "512MiB", "1.5 gb", "2kib"})
        EXPECT_EQ(hearth({"gc", "--max-bytes", size}).exit_code, 0) << size;
}

TEST_F(Verify, an_intact_cache_exits_0)
{
    put("a", "1");
    put("b", "2");
    const auto report = json_of({"verify", "--json"});
    EXPECT_EQ(report.at("checked"), 2);
    EXPECT_EQ(report.at("intact"), 2);
    EXPECT_EQ(report.at("corrupt"), 0);
    EXPECT_EQ(report.at("accounting_exact"), true);
    EXPECT_EQ(hearth({"verify"}).exit_code, 0);
}

TEST_F(Verify, corruption_exits_1_until_it_is_repaired)
{
    put("damaged", noise(50000));
    put("intact", "bytes");
    flip(largest_file(), 25000);
    EXPECT_TRUE(ends_saying(hearth({"verify"}), 1, "--repair"));

    const ProcessResult repaired = hearth({"verify", "--repair", "--json"});
    EXPECT_EQ(repaired.exit_code, 0) << repaired.err;
    const auto report = nlohmann::json::parse(repaired.out);
    EXPECT_EQ(report.at("corrupt"), 1);
    EXPECT_EQ(report.at("removed"), 1);
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
    const ProcessResult found = hearth({"verify", "--json"});
    EXPECT_EQ(found.exit_code, 1);
    EXPECT_EQ(nlohmann::json::parse(found.out).at("untrusted"), 1);
    const auto report = nlohmann::json::parse(hearth({"verify", "--repair", "--json"}).out);
    EXPECT_EQ(report.at("removed"), 1);
    EXPECT_EQ(report.at("repaired"), true);
    EXPECT_EQ(hearth({"verify"}).exit_code, 0);
    given.clear();
    EXPECT_EQ(hearth({"get", "of 0.2.0"}).exit_code, 1);
    EXPECT_EQ(hearth({"get", "signed"}).out, "signed bytes");
}

TEST_F(Verify, a_corrupt_entry_is_a_miss_that_says_so)
{
    put("k", noise(50000));
    std::filesystem::resize_file(largest_file(), 30000);
    const ProcessResult missed = hearth({"get", "k"});
    EXPECT_EQ(missed.exit_code, 1);
    EXPECT_EQ(missed.out, "");
    EXPECT_NE(missed.err.find("corrupt"), std::string::npos) << missed.err;
    EXPECT_EQ(json_of({"stats", "--json"}).at("misses").at("corrupt"), 1);
}

TEST_F(Verify, a_link_in_place_of_an_entry_is_not_followed)
{
    put("k", noise(50000));
    const auto entry = largest_file();
    const auto outside = scratch / "outside";
    std::filesystem::rename(entry, outside);
    std::filesystem::create_symlink(outside, entry);
    const std::string before = read(outside);

    EXPECT_EQ(hearth({"get", "k"}).exit_code, 1);
    hearth({"verify", "--repair"});
    hearth({"gc", "--max-entries", "1"});
    hearth({"rm", "*"});
    hearth({"clear", "--yes"});
    EXPECT_EQ(read(outside), before) << "nothing outside the directory is touched";
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

TEST_F(Clear, touches_no_file_that_is_not_the_caches)
{
    put("k", "bytes");
    std::ofstream(cache / "mine.txt") << "keep me";
    hearth({"clear", "--yes"});
    EXPECT_EQ(read(cache / "mine.txt"), "keep me");
}

TEST_F(ExportAndImport, entries_move_to_another_directory_with_their_metadata)
{
    put("a", noise(10000), {"--target", "sm_90", "--cost", "3s"});
    put("b", "2");
    EXPECT_TRUE(ends_printing(hearth({"export", "all.hearth"}), 0, "2 entries"));
    hearth({"clear", "--yes"});

    const std::string other = (scratch / "other machine").string();
    const auto imported = json_of({"--dir", other, "import", "all.hearth", "--json"});
    EXPECT_EQ(imported.at("entries"), 2);
    EXPECT_EQ(imported.at("rejected"), 0);
    EXPECT_EQ(hearth({"--dir", other, "get", "a"}).out, noise(10000));
    const auto shown = json_of({"--dir", other, "show", "a", "--json"});
    EXPECT_EQ(shown.at("target"), "sm_90");
    EXPECT_DOUBLE_EQ(shown.at("cost_seconds").get<double>(), 3.0);
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
    EXPECT_EQ(imported.exit_code, 1);
    EXPECT_EQ(nlohmann::json::parse(imported.out).at("rejected"), 1);
    EXPECT_NE(imported.err, "") << "each rejected entry is said";
    EXPECT_EQ(hearth({"--dir", other, "get", "damaged"}).exit_code, 1);
    EXPECT_EQ(hearth({"--dir", other, "get", "intact"}).out, "bytes");
}

TEST_F(ExportAndImport, a_file_that_is_no_export_is_a_failure_with_a_sentence)
{
    write("letter.txt", "Dear cache, ...");
    write("empty", "");
    for (const char* file : {"letter.txt", "empty", "no-such-file", "."}) {
        const ProcessResult result = hearth({"import", file});
        EXPECT_EQ(result.exit_code, 3) << file;
        EXPECT_EQ(result.err.rfind("hearth: ", 0), 0U) << result.err;
    }
}

namespace {

using Words = std::vector<std::string>;

class Stopped : public Command {
protected:
    void SetUp() override
    {
        for (int i = 0; i < 24; ++i)
            put("k" + std::to_string(i), noise(1 << 18));
        ASSERT_EQ(hearth({"export", "all.hearth"}).exit_code, 0);
    }

    void fill_again() { ASSERT_EQ(hearth({"import", "all.hearth"}).exit_code, 0); }
    void empty_again() { ASSERT_EQ(hearth({"clear", "--yes"}).exit_code, 0); }

    // Ctrl-C is 130, SIGTERM 143; no file is left behind, and what is in the cache is whole and counted.
    void expect_stops(const Words& words, const std::function<void()>& prepare,
                      const std::map<std::string, std::string>& environment = {})
    {
        const auto files = [&] {
            return std::distance(std::filesystem::directory_iterator(scratch), std::filesystem::directory_iterator());
        };
        const auto before = files();
        for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
            EXPECT_EQ(stopped_at_work(words, signal, prepare, environment), 128 + signal) << words[0];
            EXPECT_EQ(files(), before) << words[0];
            EXPECT_TRUE(std::filesystem::is_empty(cache / "v1" / "tmp")) << words[0];
            const auto report = json_of({"verify", "--json"});
            EXPECT_EQ(report.at("accounting_exact"), true) << words[0];
            EXPECT_EQ(report.at("corrupt"), 0) << words[0];
            EXPECT_EQ(report.at("stray"), 0) << words[0];
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
struct Kind {
    const char* name;
    Words command;
    std::string is_not;  // said of a file of another kind
};

void PrintTo(const Kind& kind, std::ostream* out)
{
    *out << kind.name;
}

class Written : public Command, public testing::WithParamInterface<Kind> {
protected:
    ProcessResult into(const std::string& file, const Words& more = {})
    {
        Words words = GetParam().command;
        words.push_back(file);
        words.insert(words.end(), more.begin(), more.end());
        return hearth(words);
    }
};

}  // namespace

TEST_P(Written, file_holds_what_matches_and_writing_it_is_no_use)
{
    put("one", "1");
    put("two", "2");
    const auto report = nlohmann::json::parse(into("some", {"on*", "--json"}).out);
    EXPECT_EQ(report.at("entries"), 1);
    EXPECT_EQ(report.at("rejected"), 0);
    for (const auto& row : json_lines_of({"ls", "--json"}))
        EXPECT_EQ(row.at("uses"), 0);
    EXPECT_EQ(json_of({"stats", "--json"}).at("lookups"), 0);
    EXPECT_EQ(into("none", {"zzz*"}).exit_code, 1);
    EXPECT_FALSE(std::filesystem::exists(scratch / "none"));
}

TEST_P(Written, file_replaces_one_of_its_kind_by_something)
{
    EXPECT_TRUE(ends_saying(into("keep"), 1, "nothing in the cache"));
    EXPECT_FALSE(std::filesystem::exists(scratch / "keep"));
    put("k", "bytes");
    ASSERT_EQ(into("keep").exit_code, 0);
    const std::string before = read(scratch / "keep");
    EXPECT_TRUE(ends_saying(into("keep", {"--dir", "typo"}), 1, "There is nothing in the cache"));
    EXPECT_EQ(read(scratch / "keep"), before);
    put("more", "bytes");
    EXPECT_EQ(into("keep").exit_code, 0);
    EXPECT_NE(read(scratch / "keep"), before);
    EXPECT_TRUE(ends_saying(into("no/such/folder/file"), 3, "no/such/folder/file"));
}

TEST_P(Written, file_replaces_nothing_else)
{
    put("k", "bytes");
    write("letter.txt", "Dear cache, ...");
    EXPECT_TRUE(ends_saying(into("letter.txt"), 3, GetParam().is_not));
    EXPECT_EQ(read(scratch / "letter.txt"), "Dear cache, ...");
    // Its first byte can be read by nobody, not even by root.
    EXPECT_TRUE(ends_saying(into("/proc/self/mem"), 3, "exists and cannot be read"));
    ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
    std::filesystem::create_directory(scratch / "folder");
    std::filesystem::create_symlink("/proc/self/fd/1", scratch / "output");
    for (const char* file : {"pipe", "folder", "output"}) {
        EXPECT_TRUE(ends_saying(into(file), 3, "cannot be replaced by a file")) << file;
        EXPECT_FALSE(std::filesystem::is_regular_file(std::filesystem::symlink_status(scratch / file)));
    }
    // Through a link, be it to what is not there yet.
    std::filesystem::create_symlink("real", scratch / "link");
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(into("link").exit_code, 0);
        EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link"));
        EXPECT_TRUE(std::filesystem::is_regular_file(scratch / "real"));
    }
}

TEST_P(Written, file_is_not_left_behind_by_a_command_that_is_stopped)
{
    for (int i = 0; i < 16; ++i)
        put("k" + std::to_string(i), noise(1 << 20));
    const auto files = [&] {
        return std::distance(std::filesystem::directory_iterator(scratch), std::filesystem::directory_iterator());
    };
    const auto before = files();
    Words words = GetParam().command;
    words.emplace_back("out");
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

INSTANTIATE_TEST_SUITE_P(kinds, Written,
                         testing::Values(Kind{"export_file", {"export"}, "is not an export"},
                                         Kind{"bundle", {"bundle", "create"}, "is not a bundle"}),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_F(Clean, counts_what_has_expired)
{
    put("k", "bytes");
    int removed = 0;
    // It expires after a second, however many runs that takes.
    for (int i = 0; i < 10000 && !json_lines_of({"ls", "--json"}).empty(); ++i)
        removed += nlohmann::json::parse(hearth({"gc", "--json"}, {.environment = {{"HEARTH_MAX_AGE", "1s"}}}).out)
                       .at("removed_entries")
                       .get<int>();
    EXPECT_EQ(removed, 1);
}

}  // namespace hearth::test
