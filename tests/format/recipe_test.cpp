#include "format/recipe.hpp"

#include "base/wire.hpp"
#include "support/damage.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace hearth::format {

namespace {

using base::Sha256;

constexpr std::size_t k_checksum_at = 8;
constexpr std::size_t k_version_at = 24;
constexpr std::size_t k_size_at = 28;

Sha256 digest_of(std::string_view text)
{
    return base::sha256(as_bytes(text));
}

Recipe sample(std::string_view source)
{
    Recipe recipe;
    recipe.key = Key::of("recipe test", source);
    recipe.source = digest_of(source);
    recipe.name = "/home/ann/k.cu";
    recipe.options = {"-std=c++20", "", "-arch=sm_90"};
    recipe.names = {"k<float>"};
    recipe.given = {{"given.h", digest_of("given")}};
    recipe.files = {{"/opt/include/a.h", "I:a.h", digest_of("a"), false}, {"b.h", "P:b.h", digest_of("b"), true}};
    recipe.program_path_matters = true;
    recipe.target = "sm_90";
    recipe.build_id = "0123456789abcdef";
    recipe.builtins = "fedcba";
    recipe.compiler = "nvrtc 13.0";
    recipe.environment = "-DX";
    recipe.working_directory = "/home/ann";
    recipe.status = -6;
    recipe.cost = std::chrono::milliseconds(27);
    return recipe;
}

Recipe sample_of_command(std::string_view source)
{
    Recipe recipe = sample(source);
    recipe.kind = RecipeKind::command;
    recipe.conditions = digest_of("conditions");
    return recipe;
}

RecipeUse use_of(const Recipe& recipe)
{
    return {recipe.key, 3, std::chrono::microseconds(125), 4711, std::chrono::seconds(1'700'000'000)};
}

std::string content(std::string_view text, int compression = 3)
{
    return encode_content(digest_of(text), as_bytes(text), compression);
}

DecodedRecipes decode(std::string_view bytes)
{
    Result<DecodedRecipes> decoded = decode_recipes(as_bytes(bytes), "test.recipes");
    EXPECT_TRUE(decoded.ok()) << decoded.error().message;
    return decoded.ok() ? *std::move(decoded) : DecodedRecipes{};
}

// A record with the sum that its bytes call for.
std::string sealed(std::string record)
{
    const Sha256 sum = digest_of(std::string_view(record).substr(k_version_at));
    std::memcpy(record.data() + k_checksum_at, sum.data(), k_version_at - k_checksum_at);
    return record;
}

template <class T>
std::string with_number(std::string record, std::size_t at, T value)
{
    base::WireWriter out;
    out.number(value);
    return sealed(record.replace(at, out.size(), out.out()));
}

// One of each kind, and a second recipe behind them.
struct Sample {
    std::string long_text = std::string(500, 'x');  // compresses well
    Recipe first = sample("source");
    Recipe second = sample_of_command("another");
    std::vector<std::string> records{content("source"), content(long_text), encode_recipe(first),
                                     encode_use(use_of(first)), encode_recipe(second)};

    std::string bytes() const
    {
        std::string all;
        for (const std::string& record : records)
            all += record;
        return all;
    }

    // Whatever was read is exactly what was written.
    void expect_nothing_wrong(const DecodedRecipes& decoded) const
    {
        for (const Recipe& recipe : decoded.recipes)
            EXPECT_TRUE(recipe == first || recipe == second);
        for (const RecipeUse& use : decoded.uses)
            EXPECT_EQ(use, use_of(first));
        for (const auto& [digest, stored] : decoded.contents) {
            const std::optional<Bytes> raw = unpack(stored, digest);
            ASSERT_TRUE(raw);
            EXPECT_TRUE(raw->text() == "source" || raw->text() == long_text);
        }
    }
};

}  // namespace

TEST(RecipeFormat, comes_back_as_it_was)
{
    const Sample all;
    const std::string bytes = all.bytes();
    const DecodedRecipes decoded = decode(bytes);
    EXPECT_EQ(decoded.recipes, (std::vector<Recipe>{all.first, all.second}));
    EXPECT_EQ(decoded.uses, std::vector<RecipeUse>{use_of(all.first)});
    EXPECT_EQ(decoded.records, 5U);
    EXPECT_EQ(decoded.damaged_places, 0U);
    ASSERT_EQ(decoded.contents.size(), 2U);
    const StoredContent& packed = decoded.contents.at(digest_of(all.long_text));
    EXPECT_TRUE(packed.compressed);
    EXPECT_LT(packed.bytes.size(), all.long_text.size() / 2);
    EXPECT_EQ(unpack(packed, digest_of(all.long_text))->text(), all.long_text);
    EXPECT_EQ(encode_content(digest_of(all.long_text), packed), all.records[1]) << "without being unpacked";
    EXPECT_EQ(unpack(decoded.contents.at(digest_of("source")), digest_of("source"))->text(), "source");
    EXPECT_EQ(decode(encode_recipe({})).recipes, std::vector<Recipe>{Recipe{}});
}

TEST(RecipeFormat, cut_at_every_length_costs_the_record_that_is_cut)
{
    const Sample all;
    const std::string bytes = all.bytes();
    std::vector<std::size_t> ends;
    std::size_t end = 0;
    for (const std::string& record : all.records)
        ends.push_back(end += record.size());
    for (std::size_t length = ends.front(); length <= bytes.size(); ++length) {
        const DecodedRecipes decoded = decode(std::string_view(bytes).substr(0, length));
        const auto whole = static_cast<std::uint64_t>(
            std::count_if(ends.begin(), ends.end(), [&](std::size_t one) { return one <= length; }));
        EXPECT_EQ(decoded.records, whole) << length;
        EXPECT_EQ(decoded.damaged_places, length == ends[whole - 1] ? 0U : 1U) << length;
        EXPECT_EQ(decoded.damaged_bytes, length - ends[whole - 1]) << length;
        all.expect_nothing_wrong(decoded);
    }
    for (std::size_t length = 1; length < ends.front(); ++length)
        EXPECT_FALSE(decode_recipes(as_bytes(std::string_view(bytes).substr(0, length)), "cut").ok()) << length;
}

TEST(RecipeFormat, every_bit_flipped_costs_one_record_and_gives_nothing_wrong)
{
    const Sample all;
    test::for_every_flipped_bit(all.bytes(), [&](const std::string& damaged, std::size_t bit) {
        const DecodedRecipes decoded = decode(damaged);
        EXPECT_EQ(decoded.records, all.records.size() - 1) << bit;
        EXPECT_EQ(decoded.damaged_places, 1U) << bit;
        all.expect_nothing_wrong(decoded);
    });
}

TEST(RecipeFormat, what_stands_between_records_is_passed_over)
{
    const Sample all;
    std::string bytes = "torn";
    for (const std::string& record : all.records)
        bytes += record + record.substr(0, record.size() / 2);
    const DecodedRecipes decoded = decode(bytes);
    EXPECT_EQ(decoded.records, all.records.size());
    EXPECT_EQ(decoded.damaged_places, all.records.size() + 1);
    all.expect_nothing_wrong(decoded);
}

TEST(RecipeFormat, a_content_may_hold_a_record)
{
    const Sample all;
    const std::string inner = encode_recipe(all.second);
    const std::string bytes = content(inner, 0) + encode_recipe(all.first);
    const DecodedRecipes decoded = decode(bytes);
    EXPECT_EQ(decoded.recipes, std::vector<Recipe>{all.first}) << "what is inside is a source, and no recipe";
}

TEST(RecipeFormat, sizes_and_counts_that_cannot_be_allocate_nothing)
{
    const Sample all;
    const std::string good = encode_recipe(all.first);
    const std::string use = encode_use(use_of(all.first));
    const std::size_t options_at = k_recipe_head_size + 32 + 1 + 4 + 8 + 32 + 4 + all.first.name.size();
    ASSERT_EQ(decode(with_number<std::uint32_t>(good, options_at, 3)).recipes.size(), 1U) << "that is where it stands";
    // A recipe with more options than it has bytes, one whose first option is longer than the rest, and one that claims
    // more bytes than there are.
    for (const std::string& hostile :
         {with_number<std::uint32_t>(good, options_at, UINT32_MAX), with_number<std::uint32_t>(good, options_at, 4),
          with_number<std::uint32_t>(good, options_at + 4, UINT32_MAX - 8),
          with_number<std::uint32_t>(good, k_size_at, UINT32_MAX),
          with_number<std::uint32_t>(good, k_size_at, k_max_recipe_payload)}) {
        const DecodedRecipes decoded = decode(hostile + use);
        EXPECT_TRUE(decoded.recipes.empty());
        EXPECT_EQ(decoded.uses.size(), 1U);
        EXPECT_EQ(decoded.damaged_places, 1U);
    }
    const std::size_t raw_size_at = k_recipe_head_size + 32 + 1;
    EXPECT_TRUE(decode(with_number<std::uint64_t>(content(all.long_text), raw_size_at, k_max_content + 1) + use)
                    .contents.empty());
    EXPECT_TRUE(decode(with_number<std::uint64_t>(content("short"), raw_size_at, 6) + use).contents.empty());
    const std::string bomb = with_number<std::uint64_t>(content(all.long_text), raw_size_at, k_max_content);
    const DecodedRecipes decoded = decode(bomb);
    ASSERT_EQ(decoded.contents.size(), 1U);
    EXPECT_FALSE(unpack(decoded.contents.begin()->second, digest_of(all.long_text)))
        << "the frame knows better than to be that long";
}

TEST(RecipeFormat, of_another_kind_is_passed_over_with_all_that_it_holds)
{
    // Records within records: looking into each of them again would take time by the square of their number.
    const Sample all;
    std::string nested = all.records[4];
    for (int depth = 0; depth < 100; ++depth)
        nested = with_number<std::uint8_t>(content(nested, 0), k_version_at + 2, 'X');
    const DecodedRecipes decoded = decode(nested + all.records[2]);
    EXPECT_EQ(decoded.recipes, std::vector<Recipe>{all.first});
    EXPECT_EQ(decoded.records, 1U);
    EXPECT_EQ(decoded.damaged_places, 1U);
    EXPECT_EQ(decoded.damaged_bytes, nested.size());
}

TEST(RecipeFormat, a_content_that_is_not_what_its_digest_says_is_none_and_gives_way_to_one_that_is)
{
    const Sha256 digest = digest_of("one");
    const std::string wrong = encode_content(digest, as_bytes("two"), 3);
    const std::string also_wrong = encode_content(digest, as_bytes("three"), 3);
    const std::string right = content("one");
    EXPECT_FALSE(unpack(decode(wrong).contents.at(digest), digest));
    for (const std::string& bytes : {wrong + right, right + wrong, wrong + also_wrong + right + wrong}) {
        const DecodedRecipes decoded = decode(bytes);
        ASSERT_EQ(decoded.contents.size(), 1U);
        const std::optional<Bytes> raw = unpack(decoded.contents.at(digest), digest);
        ASSERT_TRUE(raw);
        EXPECT_EQ(raw->text(), "one");
    }
    std::uint64_t patience = 2;
    StoredContents all;
    const std::string text = "three";
    add_content(all, digest, {as_bytes(text), 5}, patience);
    add_content(all, digest, {as_bytes(text).first(3), 3}, patience);
    EXPECT_EQ(all.at(digest).raw_size, 5U) << "without patience the first stays";
    EXPECT_EQ(patience, 2U);
}

TEST(RecipeFormat, tells_what_a_record_is_by_its_first_bytes)
{
    const Sample all;
    using What = RecordName::What;
    const std::vector<What> expected{What::content, What::content, What::recipe, What::other, What::recipe};
    for (std::size_t i = 0; i < all.records.size(); ++i) {
        const std::optional<RecordName> name = name_of_record(std::string_view(all.records[i]).substr(0, 64));
        ASSERT_TRUE(name) << i;
        EXPECT_EQ(name->what, expected[i]) << i;
        EXPECT_EQ(name->size, all.records[i].size()) << i;
    }
    EXPECT_EQ(name_of_record(all.records[0])->digest, digest_of("source"));
    EXPECT_EQ(Key{name_of_record(all.records[4])->digest}, all.second.key);
    EXPECT_FALSE(name_of_record(std::string_view(all.records[0]).substr(0, 63)));
    EXPECT_FALSE(name_of_record(std::string_view(all.records[0]).substr(1)));
    EXPECT_FALSE(name_of_record(with_number<std::uint16_t>(all.records[2], k_version_at, k_recipe_version + 1)));
}

TEST(RecipeFormat, of_a_newer_version_is_refused_with_a_sentence_and_only_where_that_is_certain)
{
    const Sample all;
    const std::string newer = with_number<std::uint16_t>(all.records[2], k_version_at, k_recipe_version + 1);
    const Result<DecodedRecipes> refused = decode_recipes(as_bytes(all.records[0] + newer), "new.recipes");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::other_version);
    EXPECT_EQ(refused.error().message,
              "new.recipes has recipes of version 4; this Hearth reads up to version 3. Use a Hearth as new as the one "
              "that recorded it.");
    std::string damaged = all.records[2];
    damaged[k_version_at] = k_recipe_version + 1;  // its sum says that this is damage
    EXPECT_EQ(decode(damaged + all.records[3]).damaged_places, 1U);
}

TEST(RecipeFormat, a_file_that_holds_none_is_said_to_be_none_and_an_empty_one_is_empty)
{
    const Result<DecodedRecipes> text = decode_recipes(as_bytes("#include <stdio.h>\n"), "main.c");
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code, Code::corrupt);
    EXPECT_EQ(text.error().message.find("main.c is no recipe file, or nothing of its 19 bytes is whole."), 0U)
        << text.error().message;
    EXPECT_EQ(decode("").records, 0U);
}

TEST(RecipeFormat, a_file_made_to_keep_us_busy_is_not_read_to_its_end)
{
    // Every 32 bytes a record that claims all the rest: summing them all would take hours.
    const std::string real = encode_use(use_of(sample("source")));
    std::string bytes = real;
    static constexpr std::size_t k_bytes = 16U << 20U;
    while (bytes.size() < k_bytes) {
        std::string head = real.substr(0, k_recipe_head_size);
        base::WireWriter size;
        size.number(static_cast<std::uint32_t>(k_bytes - bytes.size() - k_recipe_head_size));
        head.replace(k_size_at, 4, size.out());
        bytes += head;
    }
    const DecodedRecipes decoded = decode(bytes);
    EXPECT_EQ(decoded.records, 1U);
    EXPECT_EQ(decoded.damaged_bytes, bytes.size() - real.size());
}

TEST(RecipeFormat, a_recipe_that_no_cache_can_answer_is_named_by_what_it_is)
{
    Recipe recipe = sample("source");
    recipe.why_past_the_cache = "the source mentions the time";
    const Key key = key_of_past_the_cache(recipe);
    recipe.key = key;
    EXPECT_EQ(key_of_past_the_cache(recipe), key);
    recipe.options.emplace_back("-G");
    EXPECT_NE(key_of_past_the_cache(recipe), key);
}

}  // namespace hearth::format
