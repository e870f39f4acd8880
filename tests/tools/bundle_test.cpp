// bundle create, ls, verify, merge and diff: kernels that ship with an application (53, 72).
#include "command.hpp"

#include <fstream>

#include <sys/stat.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class BundleCommand : public Command {
protected:
    // What `words` print as JSON, with a bundle in use and a directory that is empty.
    ProcessResult with_bundles(const std::string& bundles, const std::vector<std::string>& words,
                               const std::map<std::string, std::string>& more = {})
    {
        ProcessOptions options;
        options.environment["HEARTH_BUNDLES"] = bundles;
        options.environment["HEARTH_DIR"] = (scratch / "fresh").string();
        for (const auto& [name, value] : more)
            options.environment[name] = value;
        return hearth(words, options);
    }
    void flip_last_byte(const std::string& name)
    {
        std::string bytes = read(scratch / name);
        bytes.back() = static_cast<char>(bytes.back() ^ 1);
        write(name, bytes);
    }
};

}  // namespace

TEST_F(BundleCommand, a_bundle_answers_on_a_machine_that_has_nothing_else)
{
    put("saxpy", noise(10000), {"--target", "sm_90", "--cost", "3s"});
    put("gemm", "2", {"--target", "sm_80"});
    const ProcessResult created = hearth({"bundle", "create", "kernels.bundle"});
    EXPECT_EQ(created.exit_code, 0) << created.err;
    EXPECT_NE(created.out.find("Wrote 2 entries to kernels.bundle"), std::string::npos) << created.out;
    fs::remove_all(cache);

    EXPECT_EQ(with_bundles("kernels.bundle", {"get", "saxpy"}).out, noise(10000));
    EXPECT_EQ(with_bundles("kernels.bundle", {"get", "absent"}).exit_code, 1);
    const ProcessResult listed = with_bundles("kernels.bundle", {"ls", "saxpy", "--json"});
    EXPECT_EQ(nlohmann::json::parse(listed.out).at("tier"), "bundle");
    const auto stats = nlohmann::json::parse(with_bundles("kernels.bundle", {"stats", "--json"}).out);
    EXPECT_EQ(stats.at("tiers").at(2).at("name"), "bundle");
    EXPECT_EQ(stats.at("tiers").at(2).at("hits"), 1);
    EXPECT_EQ(stats.at("tiers").at(2).at("entries"), 2);
    EXPECT_EQ(stats.at("tiers").at(1).at("entries"), 0) << "nothing is copied to the disk";
}

TEST_F(BundleCommand, create_says_what_it_wrote_and_uses_nothing)
{
    put("one", "1");
    put("two", "2");
    const auto report = json_of({"bundle", "create", "some.bundle", "on*", "--json"});
    EXPECT_EQ(report.at("entries"), 1);
    EXPECT_EQ(report.at("rejected"), 0);
    EXPECT_EQ(report.at("bytes"), fs::file_size(scratch / "some.bundle"));
    EXPECT_EQ(report.at("id").get<std::string>().size(), 64U);
    EXPECT_EQ(json_of({"bundle", "ls", "some.bundle", "--facts", "--json"}).at("id"), report.at("id"));
    for (const auto& row : json_lines_of({"ls", "--json"}))
        EXPECT_EQ(row.at("uses"), 0);
    EXPECT_EQ(json_of({"stats", "--json"}).at("lookups"), 0);
}

TEST_F(BundleCommand, create_of_nothing_says_so)
{
    const ProcessResult empty = hearth({"bundle", "create", "empty.bundle"});
    EXPECT_EQ(empty.exit_code, 1);
    EXPECT_NE(empty.err.find("nothing in the cache"), std::string::npos) << empty.err;
    EXPECT_FALSE(fs::exists(scratch / "empty.bundle"));
    put("one", "1");
    const ProcessResult no_match = hearth({"bundle", "create", "none.bundle", "zzz*"});
    EXPECT_EQ(no_match.exit_code, 1);
    EXPECT_FALSE(fs::exists(scratch / "none.bundle"));
}

TEST_F(BundleCommand, create_replaces_neither_a_bundle_by_nothing_nor_what_is_no_bundle)
{
    put("k", noise(100));
    const std::string file = (scratch / "good.bundle").string();
    ASSERT_EQ(hearth({"bundle", "create", file}).exit_code, 0);
    const std::string before = read(file);
    const ProcessResult nothing = hearth({"--dir", (scratch / "mistyped").string(), "bundle", "create", file});
    EXPECT_EQ(nothing.exit_code, 1) << nothing.err;
    EXPECT_EQ(read(file), before);
    const std::string source = write("source.cu", "__global__ void k() {}\n").string();
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"create", source}, {"merge", source, file}, {"diff", source, file, file}}) {
        std::vector<std::string> all{"bundle"};
        all.insert(all.end(), words.begin(), words.end());
        const ProcessResult refused = hearth(all);
        EXPECT_EQ(refused.exit_code, 3) << refused.err;
        EXPECT_NE(refused.err.find("is not a bundle"), std::string::npos) << refused.err;
    }
    EXPECT_EQ(read(source), "__global__ void k() {}\n");
}

TEST_F(BundleCommand, create_leaves_an_old_file_where_the_new_one_cannot_be_written)
{
    put("one", "1");
    const ProcessResult nowhere = hearth({"bundle", "create", "no/such/folder.bundle"});
    EXPECT_EQ(nowhere.exit_code, 3);
    EXPECT_NE(nowhere.err.find("no/such/folder.bundle"), std::string::npos) << nowhere.err;
    write("old.bundle", "the old one");
    const ProcessResult no_key = hearth({"bundle", "create", "old.bundle", "--sign-with", "missing.key"});
    EXPECT_EQ(no_key.exit_code, 3);
    EXPECT_NE(no_key.err.find("missing.key"), std::string::npos) << no_key.err;
    EXPECT_EQ(read(scratch / "old.bundle"), "the old one");
}

TEST_F(BundleCommand, ls_shows_facts_and_entries)
{
    put("saxpy", noise(1000), {"--target", "sm_90", "--compiler", "nvrtc 13.0"});
    put("gemm", "2", {"--target", "sm_80"});
    hearth({"bundle", "create", "kernels.bundle"});
    const ProcessResult people = hearth({"bundle", "ls", "kernels.bundle"});
    EXPECT_EQ(people.exit_code, 0) << people.err;
    for (const char* text : {"sm_80 (1), sm_90 (1)", "nvrtc 13.0 (1)", "nobody", "saxpy", "gemm"})
        EXPECT_NE(people.out.find(text), std::string::npos) << text << " in\n" << people.out;
    const auto rows = json_lines_of({"bundle", "ls", "kernels.bundle", "--json"});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_LT(rows[0].at("key"), rows[1].at("key"));
    EXPECT_EQ(json_lines_of({"bundle", "ls", "kernels.bundle", "sax*", "--json"}).size(), 1U);
    EXPECT_EQ(hearth({"bundle", "ls", "kernels.bundle", "zzz*"}).exit_code, 1);
    const auto facts = json_of({"bundle", "ls", "kernels.bundle", "--facts", "--json"});
    EXPECT_EQ(facts.at("entries"), 2);
    EXPECT_EQ(facts.at("targets").at(0).at("name"), "sm_80");
    EXPECT_TRUE(facts.at("signed_by").is_null());
    EXPECT_TRUE(facts.at("base").is_null());
}

TEST_F(BundleCommand, verify_exits_1_for_damage_and_3_for_what_is_no_bundle)
{
    put("saxpy", noise(1000));
    put("gemm", noise(2000));
    hearth({"bundle", "create", "kernels.bundle"});
    EXPECT_EQ(hearth({"bundle", "verify", "kernels.bundle"}).exit_code, 0);
    flip_last_byte("kernels.bundle");
    const ProcessResult damaged = hearth({"bundle", "verify", "kernels.bundle", "--json"});
    EXPECT_EQ(damaged.exit_code, 1);
    const auto report = nlohmann::json::parse(damaged.out);
    EXPECT_EQ(report.at("checked"), 2);
    EXPECT_EQ(report.at("intact"), 1);
    EXPECT_EQ(report.at("corrupt"), 1);
    EXPECT_TRUE(report.at("signed_by").is_null());
    EXPECT_NE(damaged.err.find("kernels.bundle"), std::string::npos) << damaged.err;

    write("text", "hello");
    hearth({"export", "export.hearth"});
    for (const char* const file : {"text", "missing", ".", "export.hearth"})
        for (const char* const command : {"verify", "ls"}) {
            const ProcessResult result = hearth({"bundle", command, file});
            EXPECT_EQ(result.exit_code, 3) << file;
            EXPECT_EQ(result.out, "");
            EXPECT_EQ(result.err.rfind("hearth: ", 0), 0U) << result.err;
        }
}

TEST_F(BundleCommand, ls_of_one_that_was_cut_says_so)
{
    put("saxpy", noise(1000));
    put("gemm", noise(2000));
    hearth({"bundle", "create", "kernels.bundle"});
    const std::string whole = read(scratch / "kernels.bundle");
    write("kernels.bundle", whole.substr(0, whole.size() - 1));
    const ProcessResult cut = hearth({"bundle", "ls", "kernels.bundle"});
    EXPECT_EQ(cut.exit_code, 3);
    EXPECT_NE(cut.err.find("of its 2 entries 1 lies behind its end"), std::string::npos) << cut.err;
    EXPECT_NE(cut.out.find("saxpy"), std::string::npos) << "what is there is shown";
}

TEST_F(BundleCommand, what_is_no_file_is_not_replaced_by_one)
{
    put("saxpy", noise(1000));
    const std::string recipes = write("r.recipes", "").string();
    ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
    fs::create_directory(scratch / "folder");
    fs::create_symlink("/proc/self/fd/1", scratch / "output");
    fs::create_symlink("real.bundle", scratch / "link");
    for (const std::string file : {"pipe", "folder", "output"})
        for (const std::vector<std::string>& words : {std::vector<std::string>{"bundle", "create", file},
                                                      {"export", file},
                                                      {"recipes", "merge", file, recipes}}) {
            const ProcessResult refused = hearth(words);
            EXPECT_EQ(refused.exit_code, 3) << words.front() << ' ' << file;
            EXPECT_NE(refused.err.find("cannot be replaced by a file"), std::string::npos) << refused.err;
            EXPECT_FALSE(fs::is_regular_file(fs::symlink_status(scratch / file)));
        }
    // Through a link, be it to what is not there yet.
    for (int round = 0; round < 2; ++round) {
        EXPECT_EQ(hearth({"bundle", "create", "link"}).exit_code, 0);
        EXPECT_TRUE(fs::is_symlink(scratch / "link"));
        EXPECT_EQ(hearth({"bundle", "verify", "real.bundle"}).exit_code, 0);
    }
}

TEST_F(BundleCommand, a_signed_one_is_demanded_as_a_whole)
{
    put("saxpy", noise(1000));
    ASSERT_EQ(hearth({"keygen", "build.key"}).exit_code, 0);
    const std::string key = json_of({"keygen", "other.key", "--json"}).at("public_key");
    EXPECT_EQ(hearth({"keygen", "--public", "other.key"}).out, key + "\n");
    EXPECT_EQ(hearth({"keygen", "--public", "missing.key"}).exit_code, 3);
    hearth({"bundle", "create", "plain.bundle"});
    const ProcessResult left_out = hearth({"bundle", "create", "signed.bundle", "--sign-with", "other.key"});
    EXPECT_EQ(left_out.exit_code, 1);
    EXPECT_NE(left_out.err.find("Left out: 1 entry that no trusted key has signed"), std::string::npos) << left_out.err;
    given["HEARTH_SIGN_WITH"] = (scratch / "other.key").string();
    put("saxpy", noise(1000));
    given.clear();
    ASSERT_EQ(hearth({"bundle", "create", "signed.bundle", "--sign-with", "other.key"}).exit_code, 0);
    EXPECT_EQ(json_of({"bundle", "ls", "signed.bundle", "--facts", "--json"}).at("signed_by"), key);
    EXPECT_EQ(hearth({"bundle", "verify", "signed.bundle", "--trusted", key}).exit_code, 0);
    EXPECT_EQ(hearth({"bundle", "verify", "signed.bundle", "--trusted", write("keys", key + "\n")}).exit_code, 0);
    EXPECT_EQ(hearth({"bundle", "verify", "plain.bundle", "--trusted", key}).exit_code, 3);
    EXPECT_EQ(hearth({"bundle", "verify", "plain.bundle", "--trusted", "no key"}).exit_code, 3);

    const std::map<std::string, std::string> demanding{{"HEARTH_DEMAND_SIGNATURES", "bundles"},
                                                       {"HEARTH_TRUSTED_KEYS", key}};
    EXPECT_EQ(with_bundles("signed.bundle", {"get", "saxpy"}, demanding).out, noise(1000));
    const ProcessResult refused = with_bundles("plain.bundle", {"get", "saxpy"}, demanding);
    EXPECT_EQ(refused.exit_code, 1);
    EXPECT_NE(refused.err.find("plain.bundle is not signed"), std::string::npos) << refused.err;
}

TEST_F(BundleCommand, merge_and_diff_make_bundles_of_bundles)
{
    put("a", "1");
    put("b", "old");
    hearth({"bundle", "create", "old.bundle"});
    hearth({"clear", "--yes"});
    put("a", "1");
    put("b", "new");
    put("c", "3");
    hearth({"bundle", "create", "new.bundle"});

    const auto delta = json_of({"bundle", "diff", "update.bundle", "old.bundle", "new.bundle", "--json"});
    EXPECT_EQ(delta.at("entries"), 2);
    EXPECT_EQ(delta.at("same"), 1) << "made again, with the same result";
    EXPECT_EQ(delta.at("changed"), 1);
    EXPECT_EQ(delta.at("gone"), 0);
    const auto base = json_of({"bundle", "ls", "update.bundle", "--facts", "--json"}).at("base");
    EXPECT_EQ(base, json_of({"bundle", "ls", "old.bundle", "--facts", "--json"}).at("id"));
    EXPECT_EQ(with_bundles("update.bundle old.bundle", {"get", "b"}).out, "new");
    EXPECT_EQ(with_bundles("update.bundle old.bundle", {"get", "a"}).out, "1");

    const ProcessResult merged = hearth({"bundle", "merge", "all.bundle", "old.bundle", "new.bundle", "--json"});
    EXPECT_EQ(merged.exit_code, 0) << merged.err;
    const auto report = nlohmann::json::parse(merged.out);
    EXPECT_EQ(report.at("entries"), 3);
    EXPECT_EQ(report.at("same"), 1);
    EXPECT_EQ(report.at("differing"), 1);
    const std::string differing = report.at("differing_keys").at(0);
    EXPECT_NE(merged.err.find(differing), std::string::npos) << merged.err;
    EXPECT_EQ(with_bundles("all.bundle", {"get", "b"}).out, "old") << "the first one's counts";
    EXPECT_EQ(hearth({"bundle", "merge", "all.bundle", "missing"}).exit_code, 3);
    EXPECT_EQ(hearth({"bundle", "diff", "d.bundle", "old.bundle", "missing"}).exit_code, 3);
    EXPECT_FALSE(fs::exists(scratch / "d.bundle"));
}

TEST_F(BundleCommand, one_that_is_missing_is_a_warning_and_the_rest_goes_on)
{
    put("saxpy", "1");
    ProcessOptions options;
    options.environment["HEARTH_BUNDLES"] = "missing.bundle";
    const ProcessResult got = hearth({"get", "saxpy"}, options);
    EXPECT_EQ(got.exit_code, 0);
    EXPECT_EQ(got.out, "1");
    EXPECT_NE(got.err.find("missing.bundle"), std::string::npos) << got.err;
}

TEST_F(BundleCommand, does_not_stand_for_a_cache_that_cannot_be_opened)
{
    put("saxpy", "1");
    hearth({"bundle", "create", "kernels.bundle"});
    write("file", "in the directory's place");
    const ProcessResult result = with_bundles("kernels.bundle", {"--dir", (scratch / "file").string(), "ls"});
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_NE(result.err.find("is in the way"), std::string::npos) << result.err;
}

TEST_F(BundleCommand, commands_that_change_the_cache_leave_bundles_alone)
{
    put("saxpy", "1");
    hearth({"bundle", "create", "kernels.bundle"});
    const std::string before = read(scratch / "kernels.bundle");
    EXPECT_EQ(with_bundles("kernels.bundle", {"rm", "saxpy"}).exit_code, 1) << "there is nothing to remove";
    EXPECT_EQ(with_bundles("kernels.bundle", {"clear", "--yes"}).exit_code, 0);
    EXPECT_EQ(with_bundles("kernels.bundle", {"gc"}).exit_code, 0);
    EXPECT_EQ(with_bundles("kernels.bundle", {"verify", "--repair"}).exit_code, 0);
    EXPECT_EQ(read(scratch / "kernels.bundle"), before);
    EXPECT_EQ(with_bundles("kernels.bundle", {"get", "saxpy"}).out, "1");
}

TEST_F(BundleCommand, wrong_usage_names_the_command_and_its_help)
{
    const std::vector<std::pair<std::vector<std::string>, std::string>> wrong{
        {{"bundle", "nonsense"}, "'hearth bundle --help'"},
        {{"bundle", "create"}, "'hearth bundle create --help'"},
        {{"bundle", "ls"}, "'hearth bundle ls --help'"},
        {{"bundle", "verify", "x", "--trusted"}, "'hearth bundle verify --help'"},
        {{"bundle", "merge", "out"}, "'hearth bundle merge --help'"},
        {{"bundle", "diff", "out", "old"}, "'hearth bundle diff --help'"}};
    for (const auto& [words, hint] : wrong) {
        const ProcessResult result = hearth(words);
        EXPECT_EQ(result.exit_code, 2) << words.back();
        EXPECT_NE(result.err.find(hint), std::string::npos) << result.err;
    }
    const ProcessResult none = hearth({"bundle"});
    EXPECT_EQ(none.exit_code, 2);
    EXPECT_NE(none.err.find("create"), std::string::npos) << "what there is to choose from";
    for (const char* const command : {"create", "ls", "verify", "merge", "diff", "oci", "from-oci"}) {
        const ProcessResult help = hearth({"bundle", command, "--help"});
        EXPECT_EQ(help.exit_code, 0);
        EXPECT_NE(help.out.find("Examples:\n  hearth bundle"), std::string::npos) << help.out;
        EXPECT_NE(help.out.find("--json"), std::string::npos) << help.out;
    }
}

TEST_F(BundleCommand, merging_one_that_was_cut_says_so)
{
    put("saxpy", noise(1000));
    hearth({"bundle", "create", "whole.bundle"});
    const std::string whole = read(scratch / "whole.bundle");
    write("cut.bundle", whole.substr(0, whole.size() - 1));
    // The other one has what was cut off, so that nothing is lost in the end.
    const ProcessResult merged = hearth({"bundle", "merge", "all.bundle", "cut.bundle", "whole.bundle"});
    EXPECT_EQ(merged.exit_code, 0);
    EXPECT_NE(merged.err.find("cut.bundle is " + std::to_string(whole.size() - 1) + " bytes long and should be"),
              std::string::npos)
        << merged.err;
    EXPECT_EQ(merged.err.find("whole.bundle"), std::string::npos) << merged.err;
}

}  // namespace hearth::test
