// bundle create, ls, verify, merge and diff: kernels that ship with an application (53, 72).
#include "command.hpp"

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

class BundleCommand : public Command {
protected:
    // With a bundle in use and a directory that is empty.
    ProcessResult with_bundles(const std::string& bundles, const Words& words, Environment environment = {})
    {
        environment["HEARTH_BUNDLES"] = bundles;
        environment["HEARTH_DIR"] = (scratch / "fresh").string();
        return hearth(words, {.environment = std::move(environment)});
    }

    // kernels.bundle of two kernels, and its bytes.
    std::string bundle_of_two()
    {
        put("saxpy", noise(1000));
        put("gemm", noise(2000));
        EXPECT_EQ(hearth({"bundle", "create", "kernels.bundle"}).exit_code, 0);
        return read(scratch / "kernels.bundle");
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
    EXPECT_EQ(object_of(with_bundles("kernels.bundle", {"ls", "saxpy", "--json"})).at("tier"), "bundle");
    const auto tiers = object_of(with_bundles("kernels.bundle", {"stats", "--json"})).at("tiers");
    EXPECT_TRUE(holds(tiers.at(2), {{"name", "bundle"}, {"hits", 1}, {"entries", 2}}));
    EXPECT_EQ(tiers.at(1).at("entries"), 0) << "nothing is copied to the disk";
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
    EXPECT_TRUE(ends_printing(hearth({"bundle", "ls", "kernels.bundle"}), 0, "sm_80 (1), sm_90 (1)", "nvrtc 13.0 (1)",
                              "nobody", "saxpy", "gemm"));
    const auto rows = json_lines_of({"bundle", "ls", "kernels.bundle", "--json"});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_LT(rows[0].at("key"), rows[1].at("key"));
    EXPECT_EQ(json_lines_of({"bundle", "ls", "kernels.bundle", "sax*", "--json"}).size(), 1U);
    EXPECT_EQ(hearth({"bundle", "ls", "kernels.bundle", "zzz*"}).exit_code, 1);
    const auto facts = json_of({"bundle", "ls", "kernels.bundle", "--facts", "--json"});
    EXPECT_TRUE(holds(facts, {{"id", created.at("id")}, {"entries", 2}, {"targets/0/name", "sm_80"}}));
    EXPECT_TRUE(holds(facts, {{"signed_by", nullptr}, {"base", nullptr}}));
}

TEST_F(BundleCommand, verify_exits_1_for_damage_and_3_for_what_is_no_bundle)
{
    const std::string whole = bundle_of_two();
    EXPECT_EQ(hearth({"bundle", "verify", "kernels.bundle"}).exit_code, 0);
    flip(scratch / "kernels.bundle", whole.size() - 1);
    const ProcessResult damaged = hearth({"bundle", "verify", "kernels.bundle", "--json"});
    EXPECT_TRUE(holds(object_of(damaged),
                      {{"exit", 1}, {"checked", 2}, {"intact", 1}, {"corrupt", 1}, {"signed_by", nullptr}}));
    EXPECT_NE(damaged.err.find("kernels.bundle"), std::string::npos) << damaged.err;

    write("text", "hello");
    hearth({"export", "export.hearth"});
    for (const char* const file : {"text", "missing", ".", "export.hearth"})
        for (const char* const command : {"verify", "ls"}) {
            const ProcessResult result = hearth({"bundle", command, file});
            EXPECT_TRUE(is_refused(result, 3)) << file;
            EXPECT_EQ(result.out, "");
        }
}

TEST_F(BundleCommand, one_that_was_cut_is_listed_and_merged_as_far_as_it_goes_and_that_is_said)
{
    const std::string whole = bundle_of_two();
    write("cut.bundle", whole.substr(0, whole.size() - 1));
    const ProcessResult cut = hearth({"bundle", "ls", "cut.bundle"});
    EXPECT_TRUE(ends_saying(cut, 3, "of its 2 entries 1 lies behind its end"));
    EXPECT_TRUE(ends_printing(cut, 3, "saxpy")) << "what is there is shown";
    // The other one has what was cut off, so that nothing is lost in the end.
    const ProcessResult merged = hearth({"bundle", "merge", "all.bundle", "cut.bundle", "kernels.bundle"});
    EXPECT_TRUE(
        ends_saying(merged, 0, "cut.bundle is " + std::to_string(whole.size() - 1) + " bytes long and should be"));
    EXPECT_EQ(merged.err.find("kernels.bundle"), std::string::npos) << merged.err;
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

    const Environment demanding{{"HEARTH_DEMAND_SIGNATURES", "bundles"}, {"HEARTH_TRUSTED_KEYS", key}};
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
    EXPECT_TRUE(holds(delta, {{"entries", 2}, {"same", 1}, {"changed", 1}, {"gone", 0}})) << "a was made again";
    const auto base = json_of({"bundle", "ls", "update.bundle", "--facts", "--json"}).at("base");
    EXPECT_EQ(base, json_of({"bundle", "ls", "old.bundle", "--facts", "--json"}).at("id"));
    EXPECT_EQ(with_bundles("update.bundle old.bundle", {"get", "b"}).out, "new");
    EXPECT_EQ(with_bundles("update.bundle old.bundle", {"get", "a"}).out, "1");

    const ProcessResult merged = hearth({"bundle", "merge", "all.bundle", "old.bundle", "new.bundle", "--json"});
    const auto report = object_of(merged);
    EXPECT_TRUE(holds(report, {{"exit", 0}, {"entries", 3}, {"same", 1}, {"differing", 1}}));
    EXPECT_TRUE(ends_saying(merged, 0, report.at("differing_keys").at(0).get<std::string>()));
    EXPECT_EQ(with_bundles("all.bundle", {"get", "b"}).out, "old") << "the first one's counts";
    EXPECT_EQ(hearth({"bundle", "merge", "all.bundle", "missing"}).exit_code, 3);
    EXPECT_EQ(hearth({"bundle", "diff", "d.bundle", "old.bundle", "missing"}).exit_code, 3);
    EXPECT_FALSE(fs::exists(scratch / "d.bundle"));
}

TEST_F(BundleCommand, does_not_stand_for_a_cache_that_cannot_be_opened)
{
    put("saxpy", "1");
    hearth({"bundle", "create", "kernels.bundle"});
    write("file", "in the directory's place");
    EXPECT_TRUE(
        ends_saying(with_bundles("kernels.bundle", {"--dir", (scratch / "file").string(), "ls"}), 3, "is in the way"));
    EXPECT_EQ(with_bundles("kernels.bundle", {"rm", "saxpy"}).exit_code, 1) << "there is nothing to remove";
}

}  // namespace hearth::test
