// bundle oci and from-oci: bundles as registries of container images carry them (94).
#include "command.hpp"

#include "base/digest.hpp"
#include "base/hex.hpp"

#include <span>

#include <sys/stat.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

std::string digest_of(const std::string& bytes)
{
    const base::Sha256 digest = base::sha256(as_bytes(bytes));
    return base::to_hex(std::as_bytes(std::span(digest)));
}

class BundleOci : public Command {
protected:
    void SetUp() override
    {
        ASSERT_EQ(hearth({"keygen", "build.key"}).exit_code, 0);
        given["HEARTH_SIGN_WITH"] = (scratch / "build.key").string();
        put("saxpy", noise(10000), {"--target", "sm_90"});
        put("gemm", noise(2000), {"--target", "sm_80"});
        given.clear();
        ASSERT_EQ(hearth({"bundle", "create", "kernels.bundle", "--sign-with", "build.key"}).exit_code, 0);
        bundle = read(scratch / "kernels.bundle");
        report = json_of({"bundle", "oci", "layout", "kernels.bundle", "--json"});
    }

    nlohmann::json json_file(const std::string& name) const { return nlohmann::json::parse(read(scratch / name)); }
    std::string blob(const std::string& digits) const { return "layout/blobs/sha256/" + digits; }
    std::string manifest_digits() const { return report.at("digest").get<std::string>().substr(7); }

    // Puts another manifest in the place of the right one, under its own digest.
    void set_manifest(const nlohmann::json& manifest)
    {
        const std::string text = manifest.dump();
        write(blob(digest_of(text)), text);
        nlohmann::json index = json_file("layout/index.json");
        index["manifests"][0]["digest"] = "sha256:" + digest_of(text);
        index["manifests"][0]["size"] = text.size();
        write("layout/index.json", index.dump());
    }
    nlohmann::json manifest() const { return json_file(blob(manifest_digits())); }

    // It is refused with this in the sentence, and what was there stays.
    void expect_refused(const std::string& said)
    {
        write("old.bundle", bundle);
        EXPECT_TRUE(ends_saying(hearth({"bundle", "from-oci", "old.bundle", "layout"}), 3, said));
        EXPECT_EQ(read(scratch / "old.bundle"), bundle);
        EXPECT_NE(hearth({"bundle", "from-oci", "new.bundle", "layout"}).exit_code, 0);
        EXPECT_FALSE(fs::exists(scratch / "new.bundle"));
        for (const fs::directory_entry& file : fs::directory_iterator(scratch))
            EXPECT_EQ(file.path().string().find(".part-"), std::string::npos) << file.path();
    }

    std::string bundle;
    nlohmann::json report;
};

}  // namespace

TEST_F(BundleOci, there_and_back_is_the_same_bundle)
{
    EXPECT_TRUE(holds(report, {{"entries", 2}, {"bytes", bundle.size()}}));
    EXPECT_EQ(read(scratch / blob(digest_of(bundle))), bundle) << "byte for byte";
    const auto back = json_of({"bundle", "from-oci", "back.bundle", "layout", "--json"});
    EXPECT_TRUE(holds(back, {{"digest", report.at("digest")}, {"id", report.at("id")}}));
    EXPECT_EQ(read(scratch / "back.bundle"), bundle);
    // The same bundle has the same digests wherever it lies.
    write("other name", bundle);
    EXPECT_EQ(json_of({"bundle", "oci", "again", "other name", "--json"}).at("digest"), report.at("digest"));
    EXPECT_EQ(snapshot(scratch / "layout").size(), snapshot(scratch / "again").size());
    EXPECT_EQ(read(scratch / "layout/index.json"), read(scratch / "again/index.json"));
}

TEST_F(BundleOci, says_what_it_is)
{
    const auto image = manifest();
    const char* const type = "application/vnd.hearth.bundle.v1";
    EXPECT_TRUE(holds(image, {{"artifactType", type}, {"layers/0/mediaType", type}}));
    const auto& said = image.at("annotations");
    EXPECT_TRUE(holds(said, {{"org.opencontainers.image.version", report.at("id")}, {"hearth.bundle.entries", "2"}}));
    EXPECT_EQ(said.at("hearth.bundle.targets"), "sm_80, sm_90");
    EXPECT_EQ(said.at("hearth.bundle.signed-by").get<std::string>() + "\n",
              hearth({"keygen", "--public", "build.key"}).out);
}

TEST_F(BundleOci, skopeo_reads_and_copies_it)
{
    if (!fs::exists("/usr/bin/skopeo"))
        GTEST_SKIP() << "skopeo is not installed";
    const ProcessOptions here{.environment = {}, .directory = scratch.string()};
    const ProcessResult seen = run_process({"/usr/bin/skopeo", "inspect", "oci:layout"}, here);
    ASSERT_EQ(seen.exit_code, 0) << seen.err;
    const auto image = nlohmann::json::parse(seen.out);
    EXPECT_EQ(image.at("Digest"), report.at("digest"));
    EXPECT_EQ(image.at("Labels").at("hearth.bundle.targets"), "sm_80, sm_90");
    // As to a registry and back: to another layout, with a tag, and to another form of images.
    for (const auto& [from, to] : {std::pair{"oci:layout", "dir:plain"}, {"dir:plain", "oci:copied:1"}}) {
        const ProcessResult copied = run_process({"/usr/bin/skopeo", "--insecure-policy", "copy", from, to}, here);
        ASSERT_EQ(copied.exit_code, 0) << copied.err;
    }
    EXPECT_EQ(json_of({"bundle", "from-oci", "back.bundle", "copied", "--json"}).at("digest"), report.at("digest"));
    EXPECT_EQ(read(scratch / "back.bundle"), bundle);
}

TEST_F(BundleOci, a_folder_that_holds_something_is_left_alone)
{
    const auto before = snapshot(scratch / "layout");
    EXPECT_TRUE(ends_saying(hearth({"bundle", "oci", "layout", "kernels.bundle"}), 3, "holds something already"));
    EXPECT_EQ(snapshot(scratch / "layout"), before);
    fs::remove(scratch / "layout/index.json");  // as if it had been cut short
    EXPECT_EQ(hearth({"bundle", "oci", "layout", "kernels.bundle"}).exit_code, 0);
    EXPECT_EQ(snapshot(scratch / "layout"), before);
    fs::create_directory(scratch / "mine");
    write("mine/letter", "dear");
    EXPECT_EQ(hearth({"bundle", "oci", "mine", "kernels.bundle"}).exit_code, 3);
    EXPECT_EQ(hearth({"bundle", "oci", "kernels.bundle", "kernels.bundle"}).exit_code, 3);
    EXPECT_EQ(hearth({"bundle", "oci", "new", "build.key"}).exit_code, 3) << "not a bundle";
    EXPECT_FALSE(fs::exists(scratch / "new"));
    EXPECT_EQ(hearth({"bundle", "oci", "", "kernels.bundle"}).exit_code, 2);
    EXPECT_EQ(hearth({"bundle", "from-oci", "new.bundle", ""}).exit_code, 2);
}

TEST_F(BundleOci, content_that_is_not_what_its_digest_says_is_refused)
{
    const std::string file = blob(digest_of(bundle));
    std::string changed = bundle;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    write(file, changed);
    expect_refused("is not what its name");
    write(file, bundle + "more");
    expect_refused("is not what its name");
    write(file, bundle);
    std::string text = read(scratch / blob(manifest_digits()));
    text.back() = ' ';
    write(blob(manifest_digits()), text);
    expect_refused("is not what its name");
}

TEST_F(BundleOci, no_digest_leads_out_of_the_layout)
{
    write("secret.bundle", bundle);
    for (const char* digest : {"sha256:../../../secret.bundle", "sha256:/etc/passwd", "../../secret.bundle", "",
                               "md5:1", "sha256:ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789"}) {
        auto image = manifest();
        image["layers"][0]["digest"] = digest;
        set_manifest(image);
        expect_refused("which is not sha256: with 64 digits");
        auto index = json_file("layout/index.json");
        index["manifests"][0]["digest"] = digest;
        write("layout/index.json", index.dump());
        expect_refused("which is not sha256: with 64 digits");
        ASSERT_TRUE(fs::remove_all(scratch / "layout") > 0);
        ASSERT_EQ(hearth({"bundle", "oci", "layout", "kernels.bundle"}).exit_code, 0);
    }
}

TEST_F(BundleOci, links_and_pipes_are_not_followed)
{
    const fs::path file = scratch / blob(digest_of(bundle));
    write("outside.bundle", bundle);
    fs::remove(file);
    fs::create_symlink(scratch / "outside.bundle", file);
    expect_refused(digest_of(bundle));
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    expect_refused("is no plain file");
    fs::rename(scratch / "layout/blobs", scratch / "elsewhere");
    fs::create_symlink(scratch / "elsewhere", scratch / "layout/blobs");
    expect_refused("blobs");
}

TEST_F(BundleOci, documents_of_strangers_are_refused_with_a_sentence)
{
    const std::string right = read(scratch / "layout/index.json");
    for (const auto& [index, said] : {std::pair<std::string, std::string>{"", "no list of manifests"},
                                      {"[]", "no list of manifests"},
                                      {R"({"manifests":[]})", "holds 0 images"},
                                      {R"({"manifests":[{},{}]})", "holds 2 images"},
                                      {R"({"manifests":[7]})", "which is not sha256"},
                                      {std::string(100000, '['), "no list of manifests"},
                                      {std::string((4U << 20U) + 1, ' '), "is no image layout"}}) {
        write("layout/index.json", index);
        expect_refused(said);
    }
    auto nested = nlohmann::json::parse(right);
    nested["manifests"][0]["mediaType"] = "application/vnd.oci.image.index.v1+json";
    write("layout/index.json", nested.dump());
    expect_refused("is of type");
    write("layout/index.json", right);
    auto image = manifest();
    image["layers"][0]["size"] = -1;
    set_manifest(image);
    expect_refused("does not say how large");
    image["layers"][0]["mediaType"] = "application/vnd.oci.image.layer.v1.tar";
    set_manifest(image);
    expect_refused("has 0 layers");
    write("layout/oci-layout", R"({"imageLayoutVersion":"2.0.0"})");
    expect_refused("version \"2.0.0\"");
    fs::remove(scratch / "layout/oci-layout");
    expect_refused("is no image layout");
}

TEST_F(BundleOci, what_is_rightly_named_and_no_bundle_is_refused)
{
    const std::string text = "#!/bin/sh\n";
    write(blob(digest_of(text)), text);
    auto image = manifest();
    image["layers"][0]["digest"] = "sha256:" + digest_of(text);
    image["layers"][0]["size"] = text.size();
    set_manifest(image);
    expect_refused("bundle");
    write("letter", "dear");
    EXPECT_EQ(hearth({"bundle", "from-oci", "letter", "layout"}).exit_code, 3);
    EXPECT_EQ(read(scratch / "letter"), "dear") << "and no file of another kind is replaced";
}

}  // namespace hearth::test
