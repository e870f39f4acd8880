// bundle create, ls, verify, merge and diff: kernels that ship with an application (53, 72).
#include "command.hpp"

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class BundleCommand : public Command {
protected:
    // What `words` print as JSON, with a bundle in use and a directory that is empty.
    ProcessResult with_bundles(const std::string& bundles, const std::vector<std::string>& words,
                               const std::map<std::string, std::string>& more = {})
    {
        ProcessOptions options{
            .environment = {{"HEARTH_BUNDLES", bundles}, {"HEARTH_DIR", (scratch / "fresh").string()}}};
        for (const auto& [name, value] : more)
            options.environment[name] = value;
        return hearth(words, options);
    }
};

}  // namespace

TEST_F(BundleCommand, a_bundle_answers_on_a_machine_that_has_nothing_else)
{
    put("saxpy", noise(10000), {"--target", "sm_90", "--cost", "3s"});
    put("gemm", "2", {"--target", "sm_80"});
    EXPECT_TRUE(ends_printing(hearth({"bundle", "create", "kernels.bundle"}), 0, "Wrote 2 entries to kernels.bundle"));
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

TEST_F(BundleCommand, what_is_no_bundle_is_not_replaced_by_one)
{
    put("k", noise(100));
    ASSERT_EQ(hearth({"bundle", "create", "good.bundle"}).exit_code, 0);
    write("source.cu", "__global__ void k() {}\n");
    EXPECT_TRUE(ends_saying(hearth({"bundle", "merge", "source.cu", "good.bundle"}), 3, "is not a bundle"));
    EXPECT_TRUE(
        ends_saying(hearth({"bundle", "diff", "source.cu", "good.bundle", "good.bundle"}), 3, "is not a bundle"));
    EXPECT_EQ(read(scratch / "source.cu"), "__global__ void k() {}\n");
    const std::string before = read(scratch / "good.bundle");
    EXPECT_TRUE(
        ends_saying(hearth({"bundle", "create", "good.bundle", "--sign-with", "missing.key"}), 3, "missing.key"));
    EXPECT_EQ(read(scratch / "good.bundle"), before);
}

TEST_F(BundleCommand, ls_shows_facts_and_entries)
{
    put("saxpy", noise(1000), {"--target", "sm_90", "--compiler", "nvrtc 13.0"});
    put("gemm", "2", {"--target", "sm_80"});
    const auto created = json_of({"bundle", "create", "kernels.bundle", "--json"});
    EXPECT_EQ(created.at("id").get<std::string>().size(), 64U);
    EXPECT_EQ(created.at("bytes"), fs::file_size(scratch / "kernels.bundle"));
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
    EXPECT_EQ(facts.at("id"), created.at("id"));
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
    flip(scratch / "kernels.bundle", fs::file_size(scratch / "kernels.bundle") - 1);
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
    EXPECT_TRUE(ends_saying(cut, 3, "of its 2 entries 1 lies behind its end"));
    EXPECT_NE(cut.out.find("saxpy"), std::string::npos) << "what is there is shown";
}

TEST_F(BundleCommand, a_signed_one_is_demanded_as_a_whole)
{
    put("saxpy", noise(1000));
    ASSERT_EQ(hearth({"keygen", "build.key"}).exit_code, 0);
    const std::string key = json_of({"keygen", "other.key", "--json"}).at("public_key");
    EXPECT_EQ(hearth({"keygen", "--public", "other.key"}).out, key + "\n");
    EXPECT_EQ(hearth({"keygen", "--public", "missing.key"}).exit_code, 3);
    hearth({"bundle", "create", "plain.bundle"});
    EXPECT_TRUE(ends_saying(hearth({"bundle", "create", "signed.bundle", "--sign-with", "other.key"}), 1,
                            "Left out: 1 entry that no trusted key has signed"));
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
    EXPECT_TRUE(
        ends_saying(with_bundles("plain.bundle", {"get", "saxpy"}, demanding), 1, "plain.bundle is not signed"));
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
    const ProcessResult got = hearth({"get", "saxpy"}, {.environment = {{"HEARTH_BUNDLES", "missing.bundle"}}});
    EXPECT_EQ(got.exit_code, 0);
    EXPECT_EQ(got.out, "1");
    EXPECT_NE(got.err.find("missing.bundle"), std::string::npos) << got.err;
}

TEST_F(BundleCommand, does_not_stand_for_a_cache_that_cannot_be_opened)
{
    put("saxpy", "1");
    hearth({"bundle", "create", "kernels.bundle"});
    write("file", "in the directory's place");
    EXPECT_TRUE(
        ends_saying(with_bundles("kernels.bundle", {"--dir", (scratch / "file").string(), "ls"}), 3, "is in the way"));
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
        EXPECT_TRUE(ends_saying(hearth(words), 2, hint)) << words.back();
    }
    EXPECT_TRUE(ends_saying(hearth({"bundle"}), 2, "create"));
    for (const char* const command : {"create", "ls", "verify", "merge", "diff", "oci", "from-oci"}) {
        const ProcessResult help = hearth({"bundle", command, "--help"});
        EXPECT_TRUE(ends_printing(help, 0, "Examples:\n  hearth bundle"));
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
