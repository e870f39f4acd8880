#include "watch/manifest.hpp"

#include "base/digest.hpp"

#include <cerrno>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using watch::Condition;
using Kind = Condition::Kind;
using From = watch::Spot::From;

// One of each kind.
std::vector<Condition> conditions()
{
    const base::Sha256 digest = base::sha256(as_bytes(std::string_view("text")));
    return {
        {.kind = Kind::content, .spot = {From::directory, 2, "cub/cub.cuh"}, .digest = digest, .same_file = 0},
        {.kind = Kind::present, .spot = {From::program_directory, 0, "v.h"}, .same_file = 0},
        {.kind = Kind::a_directory, .spot = {From::root, 0, "/opt/include"}, .same_file = 2},
        {.kind = Kind::names, .spot = {From::working_directory, 0, "kernels"}, .digest = digest, .same_file = 3},
        {.kind = Kind::absent, .spot = {From::directory, 65535, ""}, .same_file = 4},
        {.kind = Kind::refused, .spot = {From::root, 0, "/root/x.h"}, .error = EACCES, .same_file = 5},
        {.kind = Kind::leads_to, .spot = {From::root, 0, "/a"}, .text = "/b", .same_file = 6},
        {.kind = Kind::really, .spot = {From::root, 0, "/a"}, .text = "/b", .same_file = 7},
        {.kind = Kind::variable, .name = "NV_NVVM_VERSION", .text = "nvvm-latest", .same_file = 8},
        {.kind = Kind::variable_unset, .name = "NVRTC_APPEND_FLAGS", .same_file = 9},
        {.kind = Kind::found, .name = "as", .text = "/usr/bin/as", .same_file = 10},
        {.kind = Kind::variable_digest, .name = "API_TOKEN", .digest = digest, .same_file = 11},
    };
}

watch::Manifest manifest()
{
    watch::Manifest manifest{.next = 7, .sets = {}};
    manifest.add({Key::of("a"), conditions()});
    manifest.add({Key::of("b"), {}});
    return manifest;
}

}  // namespace

TEST(ConditionManifest, comes_back_as_it_was)
{
    EXPECT_EQ(watch::decode_manifest(as_bytes(watch::encode_manifest(manifest()).text())), manifest());
    EXPECT_EQ(watch::decode_manifest(as_bytes(watch::encode_manifest({}).text())), watch::Manifest{});
    EXPECT_EQ(watch::decode_conditions(as_bytes(watch::encode_conditions(conditions()).text())), conditions());
    watch::Stamps stamps{{{{1, 2, 3, -4, 5}, true}, {{}, false}}};
    const auto read = watch::decode_stamps(as_bytes(watch::encode_stamps(stamps).text()));
    ASSERT_TRUE(read && read->of.size() == 2);
    EXPECT_EQ(read->of[0].file, stamps.of[0].file);
    EXPECT_TRUE(read->of[0].settled);
    EXPECT_FALSE(read->of[1].settled);
}

TEST(ConditionManifest, that_is_cut_or_has_more_is_none)
{
    const std::string whole(watch::encode_manifest(manifest()).text());
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(watch::decode_manifest(as_bytes(std::string_view(whole).substr(0, size)))) << size;
    EXPECT_FALSE(watch::decode_manifest(as_bytes(whole + '\0')));
}

TEST(ConditionManifest, has_no_more_conditions_than_a_reader_looks_at_and_no_longer_ones_than_it_has_memory_for)
{
    const auto is_taken = [](const std::vector<Condition>& list) {
        return watch::decode_conditions(as_bytes(watch::encode_conditions(list).text())).has_value();
    };
    std::vector<Condition> many(watch::k_most_conditions, {.kind = Kind::variable_unset, .name = "A"});
    EXPECT_TRUE(is_taken(many));
    many.push_back(many.front());
    EXPECT_FALSE(is_taken(many));
    many.assign(watch::k_most_bytes_of_conditions / 60'000,
                {.kind = Kind::absent, .spot = {From::root, 0, std::string(59'900, 'a')}});
    EXPECT_TRUE(is_taken(many));
    many.insert(many.end(), 2, many.front());
    EXPECT_FALSE(is_taken(many));
}

TEST(ConditionManifest, of_an_older_version_is_none)
{
    std::string whole(watch::encode_manifest(manifest()).text());
    const std::size_t version = whole.find("3\n");
    ASSERT_LT(version, 20U);
    for (const char older : {'1', '2'}) {
        whole[version] = older;
        EXPECT_FALSE(watch::decode_manifest(as_bytes(whole)));
    }
}

// Bytes that differ without a new version fail here.
TEST(ConditionManifest, has_the_bytes_of_its_version)
{
    EXPECT_EQ(Key{base::sha256(watch::encode_manifest(manifest()))}.hex(),
              "3c65332576c5e3de0e22d3e16a6f48616c62fb4f5fe601f71ac629a22853fff6");
}

TEST(HiddenValues, stand_for_one_value_of_one_variable_in_one_question)
{
    const Key question = Key::of("question");
    const auto digest = watch::digest_of_value(question, "API_TOKEN", "hunter2");
    EXPECT_EQ(watch::digest_of_value(question, "API_TOKEN", "hunter2"), digest);
    EXPECT_NE(watch::digest_of_value(question, "API_TOKEN", "hunter3"), digest);
    EXPECT_NE(watch::digest_of_value(question, "TOKEN", "hunter2"), digest);
    EXPECT_NE(watch::digest_of_value(Key::of("another"), "API_TOKEN", "hunter2"), digest);
}

TEST(HiddenValues, are_all_but_those_of_variables_that_are_known_to_be_harmless)
{
    std::vector<Condition> list{{.kind = Kind::variable, .name = "PATH", .text = "/bin"},
                                {.kind = Kind::variable, .name = "DATABASE", .text = "hunter2"},
                                {.kind = Kind::variable, .name = "NVCC_APPEND_FLAGS", .text = "-O1 -DAPI_KEY=hunter2"},
                                {.kind = Kind::variable_unset, .name = "API_TOKEN"}};
    watch::hide_values(list, Key::of("question"));
    EXPECT_EQ(list[0].text, "/bin");
    EXPECT_EQ(list[1].kind, Kind::variable_digest);
    EXPECT_EQ(list[2].kind, Kind::variable_digest);
    EXPECT_EQ(list[3].kind, Kind::variable_unset);
    EXPECT_EQ(watch::encode_conditions(list).text().find("hunter2"), std::string_view::npos);
    const std::vector<Condition> hidden = list;
    watch::hide_values(list, Key::of("question"));
    EXPECT_EQ(list, hidden);
}

TEST(ConditionManifest, that_is_any_bytes_is_that_one_encoding_or_none)
{
    const std::string whole(watch::encode_manifest(manifest()).text());
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (const char byte : {'\0', '\x01', '\x7f', '\xff'}) {
            std::string changed = whole;
            changed[at] = byte;
            const auto read = watch::decode_manifest(as_bytes(changed));
            EXPECT_TRUE(!read || watch::encode_manifest(*read).text() == changed) << at;
        }
}

TEST(ConditionManifest, keeps_the_newest_sets_and_each_once)
{
    watch::Manifest all;
    for (int i = 0; i < 20; ++i)
        all.add({Key::of("result", std::to_string(i)), {{.kind = Kind::variable_unset, .name = std::to_string(i)}}});
    ASSERT_EQ(all.sets.size(), watch::Manifest::k_most_sets);
    EXPECT_EQ(all.sets.front().result, Key::of("result", "19"));
    all.add({Key::of("result", "15"), {{.kind = Kind::variable_unset, .name = "again"}}});
    EXPECT_EQ(all.sets.size(), watch::Manifest::k_most_sets);
    EXPECT_EQ(all.sets.front().conditions.front().name, "again");
}

}  // namespace hearth::test
