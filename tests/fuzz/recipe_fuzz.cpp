#include "base/digest.hpp"
#include "base/wire.hpp"
#include "format/recipe.hpp"
#include "fuzz/fuzz.hpp"

#include <string>

namespace {

using namespace hearth;

constexpr std::string_view k_magic = "\x89HRTHRC\n";
constexpr std::size_t k_checksum_at = 8;
constexpr std::size_t k_version_at = 24;
constexpr std::size_t k_size_at = 28;

// Makes the sums of all records right that are there as a whole.
void reseal(std::string& bytes)
{
    for (std::size_t at = bytes.find(k_magic); at != std::string::npos; at = bytes.find(k_magic, at + 1)) {
        if (bytes.size() - at < format::k_recipe_head_size)
            return;
        const std::string_view record = std::string_view(bytes).substr(at);
        const auto size = base::WireReader(as_bytes(record.substr(k_size_at))).number<std::uint32_t>();
        if (size > record.size() - format::k_recipe_head_size)
            continue;
        const base::Sha256 sum =
            base::sha256(as_bytes(record.substr(k_version_at, format::k_recipe_head_size - k_version_at + size)));
        std::memcpy(bytes.data() + at + k_checksum_at, sum.data(), k_version_at - k_checksum_at);
    }
}

void check(const std::string& bytes)
{
    const Result<format::DecodedRecipes> decoded = format::decode_recipes(as_bytes(bytes), "input");
    if (!decoded.ok()) {
        fuzz::require(decoded.error().message.find("input") != std::string::npos, "an error names the file");
        return;
    }
    fuzz::require(decoded->damaged_bytes <= bytes.size() &&
                      (decoded->damaged_places == 0) == (decoded->damaged_bytes == 0),
                  "damage is within the file");
    std::string again;
    std::uint64_t records = 0;
    for (const auto& [digest, content] : decoded->contents) {
        if (const std::optional<Bytes> raw = format::unpack(content, digest))
            fuzz::require(raw->size() == content.raw_size, "a content is as long as it says");
        again += format::encode_content(digest, content);
        ++records;
    }
    for (const format::Recipe& recipe : decoded->recipes)
        again += format::encode_recipe(recipe);
    for (const format::RecipeUse& use : decoded->uses)
        again += format::encode_use(use);
    records += decoded->recipes.size() + decoded->uses.size();
    const Result<format::DecodedRecipes> same = format::decode_recipes(as_bytes(again), "again");
    fuzz::require(same.ok() && same->records == records && same->damaged_places == 0,
                  "what was read is written as whole records");
    fuzz::require(same->recipes == decoded->recipes && same->uses == decoded->uses &&
                      same->contents.size() == decoded->contents.size(),
                  "and comes back the same");
}

void try_input(std::string_view input)
{
    std::string bytes(input);
    check(bytes);
    // Sums stop nearly every mutation at the door. With sums made right it is the bounds that are tried.
    reseal(bytes);
    check(bytes);
}

const fuzz::Added k_added({"recipe", 600'000, try_input});

}  // namespace
