// 54: what is kept of a measurement, and for what it holds.

#include "modules/variants/record.hpp"

#include <gtest/gtest.h>
#include <tuple>

namespace hearth::test {

namespace {

using namespace hearth::cuda;

VariantRecord sample()
{
    return {.kernel = "gemm",
            .entry = Key::of("entry"),
            .shape = "threads<=1024 N=64",
            .device = "NVIDIA H200",
            .driver = "580.159.04",
            .winner = "tile 64",
            .launches = 160,
            .variants = {{.name = "first",
                          .state = VariantState::measured,
                          .launches = 20,
                          .median = std::chrono::microseconds(100)},
                         {.name = "tile 64",
                          .state = VariantState::winner,
                          .launches = 20,
                          .median = std::chrono::microseconds(80),
                          .ratio = 0.8,
                          .lowest = 0.79,
                          .highest = 0.81,
                          .entry = Key::of("tiled")},
                         {.name = "tile 512", .state = VariantState::dropped, .why = "too much shared memory"}}};
}

}  // namespace

TEST(VariantRecord, it_comes_back_from_its_entry_as_it_was)
{
    const VariantRecord before = sample();
    const Artifact artifact = to_artifact(before, std::chrono::milliseconds(4));
    const std::optional<VariantRecord> after = variant_record(artifact);
    ASSERT_TRUE(after);
    const auto fields = [](const VariantRecord& of) {
        return std::tuple(of.kernel, of.entry, of.shape, of.device, of.driver, of.winner, of.launches);
    };
    EXPECT_TRUE(fields(*after) == fields(before));
    ASSERT_EQ(after->variants.size(), 3U);
    EXPECT_EQ(after->variants[1].state, VariantState::winner);
    EXPECT_EQ(after->variants[1].median, std::chrono::microseconds(80));
    EXPECT_DOUBLE_EQ(after->variants[1].highest, 0.81);
    EXPECT_EQ(after->variants[2].why, "too much shared memory");
    EXPECT_EQ(after->variants[1].entry, Key::of("tiled"));
}

TEST(VariantRecord, it_holds_for_this_code_device_driver_shape_and_choice_only)
{
    Variants variants{.others = {{.name = "tile 64", .options = {"-DTILE=64"}}}};
    const Key key = question_of(sample(), variants);
    const auto changed = [&](auto&& change) {
        VariantRecord other = sample();
        change(other);
        return question_of(other, variants).key();
    };
    EXPECT_EQ(changed([](VariantRecord& record) { record.winner = "first"; }), key) << "an answer is no question";
    EXPECT_NE(changed([](VariantRecord& record) { record.entry = Key::of("edited"); }), key);
    EXPECT_NE(changed([](VariantRecord& record) { record.device = "NVIDIA H100"; }), key);
    EXPECT_NE(changed([](VariantRecord& record) { record.driver = "590.10"; }), key);
    EXPECT_NE(changed([](VariantRecord& record) { record.shape = "threads<=2048 N=64"; }), key);
    const auto declared = [&](auto&& change) {
        Variants others = variants;
        change(others);
        return question_of(sample(), others).key();
    };
    using Type = Constant::Type;
    EXPECT_NE(declared([](Variants& other) { other.others[0].options = {"-DTILE=32"}; }), key);
    EXPECT_NE(declared([](Variants& other) { other.least_gain = 0.0309; }), key);
    EXPECT_NE(declared([](Variants& other) {
                  other.others[0].options = {"-DA", "-DB"};
              }),
              declared([](Variants& other) { other.others[0].options = {"-DA\n-DB"}; }));
    EXPECT_NE(declared([](Variants& other) {
                  other.others[0].constants = {{"N", 1, Type::natural}};
              }),
              declared([](Variants& other) {
                  other.others[0].constants = {{"N", 1, Type::integer}};
              }));
}

// Anybody may have written what a server or a bundle has.
TEST(VariantRecord, it_answers_only_what_was_asked)
{
    const auto changed = [](auto&& change) {
        VariantRecord other = sample();
        change(other);
        return answers(other, sample());
    };
    EXPECT_TRUE(changed([](VariantRecord& record) { record.variants[1].ratio = 0.5; }));
    EXPECT_TRUE(changed([](VariantRecord& record) { record.winner = "first"; }));
    EXPECT_FALSE(changed([](VariantRecord& record) { record.winner = "tile 99"; }));
    EXPECT_FALSE(changed([](VariantRecord& record) { record.winner = "tile 512"; })) << "a mistake in its declaration";
    EXPECT_FALSE(changed([](VariantRecord& record) { record.winner.clear(); }));
    EXPECT_FALSE(changed([](VariantRecord& record) { record.kernel = "gemv"; }));
    EXPECT_FALSE(changed([](VariantRecord& record) { record.entry = Key::of("edited"); }));
    EXPECT_FALSE(changed([](VariantRecord& record) { record.device = "NVIDIA H100"; }));
    EXPECT_FALSE(changed([](VariantRecord& record) { record.driver = "1.0"; }));
    EXPECT_FALSE(changed([](VariantRecord& record) { record.shape = "threads<=4"; }));
    EXPECT_FALSE(changed([](VariantRecord& record) { record.variants.pop_back(); }));
    EXPECT_FALSE(changed([](VariantRecord& record) { std::swap(record.variants[0], record.variants[1]); }));
}

TEST(VariantRecord, what_is_no_record_gives_none_and_no_number_overflows)
{
    Artifact artifact = to_artifact(sample(), {});
    for (const char* text : {"", "{}", "[1,2]", "not JSON", R"({"entry":"12"})"}) {
        artifact.sections[0].data = Bytes::copy_of(text);
        EXPECT_FALSE(variant_record(artifact)) << text;
    }
    artifact.sections[0].data =
        Bytes::copy_of(R"({"entry":")" + Key::of("x").hex() +
                       R"(","launches":-1e300,"variants":[{"median_ns":1e300,"state":"?"},7]})");
    const std::optional<VariantRecord> odd = variant_record(artifact);
    ASSERT_TRUE(odd);
    EXPECT_EQ(odd->launches, 0U);
    EXPECT_EQ(odd->variants.at(0).median.count(), 0);
    artifact.metadata.compiler = "nvrtc 13.0";
    EXPECT_FALSE(variant_record(artifact));
}

}  // namespace hearth::test
