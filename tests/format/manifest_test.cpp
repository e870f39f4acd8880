#include "format/manifest.hpp"

#include <gtest/gtest.h>

namespace hearth::format {

namespace {

Manifest sample()
{
    Manifest manifest;
    ManifestFile file{"/opt/include/a.h", "I:a.h", {}, {1, 2, 3, 4, 5}, true, false};
    file.digest[0] = 7;
    manifest.files = {file, {"b.h", "P:b.h", {}, {6, 7, 8, -9, 10}, false, true}};
    manifest.absent = {"/opt/first/a.h", ""};
    manifest.why_past_the_cache = "a reason";
    manifest.program_path_matters = true;
    return manifest;
}

TEST(ManifestFormat, comes_back_as_it_was)
{
    EXPECT_EQ(decode_manifest(encode_manifest(sample())), sample());
    EXPECT_EQ(decode_manifest(encode_manifest({})), Manifest{});
    Manifest all;
    all.all_paths_matter = true;
    EXPECT_EQ(decode_manifest(encode_manifest(all)), all);
}

TEST(ManifestFormat, cut_at_every_length_is_none)
{
    const Bytes whole = encode_manifest(sample());
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(decode_manifest(whole.view().first(length))) << length;
    EXPECT_FALSE(decode_manifest(Bytes::copy_of(std::string(whole.text()) + "x"))) << "more than a manifest";
}

TEST(ManifestFormat, counts_that_cannot_be_allocate_nothing)
{
    std::string bytes(encode_manifest({}).text());
    bytes.replace(bytes.size() - 8, 4, "\xff\xff\xff\xff");  // files
    EXPECT_FALSE(decode_manifest(as_bytes(bytes)));
}

TEST(ManifestFormat, unknown_flags_are_another_versions)
{
    std::string bytes(encode_manifest({}).text());
    bytes[bytes.find('\n') + 1] = 4;
    EXPECT_FALSE(decode_manifest(as_bytes(bytes)));
}

}  // namespace

}  // namespace hearth::format
