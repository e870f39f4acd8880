// Bytes that lie in caches, exports and images all over the world must stay readable, and bytes that change must say so
// by their version. golden/ holds what each version wrote, once and for good.
//
// After a format's version was raised: keep the old files, name the new ones below, and run this test once with
// HEARTH_WRITE_GOLDEN=1, which writes those that are not there yet. Those that are there are never written over.

#include "base/hex.hpp"
#include "format/archive.hpp"
#include "format/bundle_file.hpp"
#include "format/bundle_writer.hpp"
#include "format/entry.hpp"
#include "format/recipe.hpp"
#include "format/request.hpp"
#include "support/scratch_directory.hpp"
#include "support/single_file.hpp"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>

namespace hearth::test {

namespace {

using base::ChecksumKind;

struct Format {
    const char* name;
    const char* version;
    const char* where;
};
constexpr Format k_entry_format{"entry", "k_entry_version", "src/format/entry.hpp"};
constexpr Format k_archive_format{"archive", "k_archive_version", "src/format/archive.hpp"};
constexpr Format k_bundle_format{"bundle", "k_bundle_version", "src/format/bundle.hpp"};
constexpr Format k_recipe_format{"recipe", "k_recipe_version", "src/format/recipe.hpp"};
constexpr Format k_request_format{"request", "k_request_magic", "src/format/request.hpp"};

std::string golden(const std::string& name, std::string_view if_missing)
{
    const std::string path = HEARTH_GOLDEN_DIR "/" + name;
    if (std::getenv("HEARTH_WRITE_GOLDEN") && !std::filesystem::exists(path))
        write_file(path, if_missing);
    return read_file(path);
}

void expect_as_it_was(const std::string& name, std::string_view now, const Format& format)
{
    const std::string then = golden(name, now);
    EXPECT_TRUE(now == then) << "The bytes of the " << format.name
                             << " format are no longer those of tests/format/golden/" << name
                             << ". What was written with them can no longer be told from what is written now: raise "
                             << format.version << " in " << format.where << ", keep " << name
                             << " as a file of the old version, and add one of the new.\n"
                             << "then " << base::to_hex(as_bytes(then)) << "\nnow  " << base::to_hex(as_bytes(now));
}

Request compile_request()
{
    return KeyBuilder("nvrtc")
        .text("source", "extern \"C\" __global__ void noop() {}")
        .text("target", "sm_90a")
        .list("options", std::vector<std::string>{"-std=c++20", "", "-DX=ü"})
        .bytes("compiler", as_bytes(std::string_view("\x00\x01\xFE\xFF", 4)))
        .number("registers", 0x0102030405060708)
        .flag("debug", true)
        .flag("fast", false)
        .build();
}

Request request_of_long_values()
{
    return KeyBuilder("opencl")
        .text("source", std::string(1000, 's'))
        .bytes("binary", as_bytes(std::string(129, 'b')))
        .list("options", std::vector<std::string>(700, "-DOPTION"))
        .build();
}

std::string long_text()
{
    std::string text;
    for (int line = 0; line < 100; ++line)
        text += "    add.f32 %f" + std::to_string(line) + ", %f1, %f2;\n";
    return text;
}

Artifact kernel()
{
    Artifact artifact;
    artifact.sections = {{"cubin", Bytes::copy_of(std::string_view("\x7F"
                                                                   "ELF\x02\x01\x01\x00\xFF\x00",
                                                                   10))},
                         {"ptx", Bytes::copy_of(long_text())},
                         {"log", Bytes{}},
                         {"", Bytes::copy_of("an unnamed section")}};
    artifact.metadata = {"noop", "nvrtc 12.4", "sm_90a", {"-std=c++20", "", "-DX=ü"}};
    artifact.request = compile_request().encoding();
    artifact.cost = std::chrono::nanoseconds(1'234'567'890);
    artifact.created = WallTime(std::chrono::nanoseconds(1'700'000'000'000'000'001));
    return artifact;
}

Artifact failed_compile()
{
    Artifact artifact;
    artifact.sections = {{"log", Bytes::copy_of("kernel.cu(1): error: expected a declaration\n")}};
    artifact.status = 6;
    artifact.created = WallTime(std::chrono::nanoseconds(1'700'000'000'000'000'000));
    artifact.expires = WallTime(std::chrono::nanoseconds(1'700'000'060'000'000'000));
    return artifact;
}

// Uncompressed: zstd may compress differently tomorrow without anything of ours having changed.
std::string entry_bytes(const Request& request, const Artifact& artifact, ChecksumKind kind, int compression = 0)
{
    return std::string(format::encode_entry(request, artifact, {compression, kind}).value().text());
}

void expect_holds(const std::string& bytes, const Request& request, const Artifact& artifact)
{
    const format::DecodedEntry decoded = format::decode_entry(Bytes::copy_of(bytes), request);
    ASSERT_TRUE(decoded.artifact) << to_string(decoded.why);
    EXPECT_EQ(*decoded.artifact, artifact);
}

std::string archive_bytes(const std::vector<std::string>& entries)
{
    SingleFile file;
    format::ArchiveWriter writer(file, "archive");
    for (const std::string& entry : entries)
        EXPECT_TRUE(writer.add(as_bytes(entry)).ok());
    EXPECT_TRUE(writer.finish().ok());
    return file.content();
}

// A key that everybody knows: the signature is the same each time.
SigningKey known_key()
{
    const ScratchDirectory scratch;
    write_file(scratch / "key", "ed25519-secret:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n");
    std::filesystem::permissions(scratch / "key", std::filesystem::perms::owner_read);
    return SigningKey::load(scratch / "key").value();
}

std::string golden_bundle(const base::Sha256& delta_over, const SigningKey* sign_with)
{
    std::map<Key, std::string> entries{
        {compile_request(), entry_bytes(compile_request(), kernel(), ChecksumKind::sha256)},
        {request_of_long_values(), entry_bytes(request_of_long_values(), failed_compile(), ChecksumKind::sha256)}};
    SingleFile file;
    format::BundleWriter writer(file, "bundle", entries.size());
    for (const auto& [key, bytes] : entries)
        EXPECT_TRUE(writer.add(as_bytes(bytes)).ok());
    EXPECT_TRUE(writer.finish(delta_over, sign_with).ok());
    return file.content();
}

void expect_bundle_holds(const format::BundleFile& bundle, const Request& request, const Artifact& artifact)
{
    Miss why{};
    const auto place = bundle.find(request, why);
    ASSERT_TRUE(place) << to_string(why);
    int error = 0;
    expect_holds(std::string(bundle.read(place->row, error).text()), request, artifact);
}

format::Recipe recipe()
{
    const auto digest_of = [](std::string_view text) { return base::sha256(as_bytes(text)); };
    format::Recipe made;
    made.key = compile_request().key();
    made.source = digest_of(long_text());
    made.name = "/home/ann/noop.cu";
    made.options = {"-std=c++20", "", "-DX=ü", "-arch=sm_90a"};
    made.names = {"noop<float>"};
    made.given = {{"given.h", digest_of("given")}};
    made.files = {{"/opt/inc/a.h", "I:a.h", digest_of("a"), false}, {"b.h", "P:b.h", digest_of("b"), true}};
    made.program_path_matters = true;
    made.target = "sm_90a";
    made.build_id = "0123abcd";
    made.builtins = "4567ef";
    made.compiler = "nvrtc 13.0";
    made.environment = "-DY";
    made.working_directory = "/home/ann";
    made.status = 6;
    made.cost = std::chrono::nanoseconds(1'234'567'890);
    return made;
}

// Contents, a recipe, one that no cache can answer, and a use.
std::string recipe_bytes(int compression)
{
    format::Recipe past;
    past.why_past_the_cache = "a reason";
    past.all_paths_matter = true;
    past.key = format::key_of_past_the_cache(past);
    return format::encode_content(recipe().source, as_bytes(long_text()), compression) +
           format::encode_recipe(recipe()) + format::encode_recipe(past) +
           format::encode_use({recipe().key, 3, std::chrono::nanoseconds(1'000'001), 4711,
                               std::chrono::nanoseconds(1'700'000'000'000'000'001)});
}

format::Recipe recipe_of_command()
{
    format::Recipe made = recipe();
    made.kind = format::RecipeKind::command;
    made.options = {"/usr/bin/nvcc", "-arch=sm_90a", "-c", "noop.cu", "-o", "noop.o"};
    made.conditions = base::sha256(as_bytes(std::string_view("conditions")));
    return made;
}

format::Recipe recipe_of_result()
{
    format::Recipe made;
    made.kind = format::RecipeKind::result;
    made.key = recipe().key;
    made.source = recipe().source;
    made.name = "jit_energy";
    made.compiler = "jax";
    made.cost = std::chrono::milliseconds(27);
    return made;
}

void expect_recipes_hold(const std::string& bytes)
{
    const auto decoded = format::decode_recipes(as_bytes(bytes), "golden");
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    ASSERT_EQ(decoded->recipes.size(), 2U);
    EXPECT_EQ(decoded->recipes[0], recipe());
    EXPECT_EQ(decoded->recipes[1].why_past_the_cache, "a reason");
    EXPECT_EQ(decoded->recipes[1].key, format::key_of_past_the_cache(decoded->recipes[1]));
    EXPECT_EQ(format::unpack(decoded->contents.at(recipe().source), recipe().source)->text(), long_text());
    EXPECT_EQ(decoded->uses.at(0).count, 3U);
    EXPECT_EQ(decoded->damaged_places, 0U);
}

}  // namespace

TEST(Golden, what_is_written_today_is_what_it_was)
{
    const std::vector<std::string> entries{
        entry_bytes(compile_request(), kernel(), ChecksumKind::sha256),
        entry_bytes(request_of_long_values(), failed_compile(), ChecksumKind::sha256)};
    const SigningKey signer = known_key();
    base::Sha256 delta_over{};
    delta_over.fill(0xAB);
    expect_as_it_was("v1_compile.request", compile_request().encoding().text(), k_request_format);
    expect_as_it_was("v1_long_values.request", request_of_long_values().encoding().text(), k_request_format);
    expect_as_it_was("v1_sha256.entry", entries[0], k_entry_format);
    expect_as_it_was("v1_failed.entry", entries[1], k_entry_format);
    expect_as_it_was("v1.archive", archive_bytes(entries), k_archive_format);
    expect_as_it_was("v1_empty.archive", archive_bytes({}), k_archive_format);
    expect_as_it_was("v1.bundle", golden_bundle({}, nullptr), k_bundle_format);
    expect_as_it_was("v1_signed_delta.bundle", golden_bundle(delta_over, &signer), k_bundle_format);
    expect_as_it_was("v1.recipes", recipe_bytes(0), k_recipe_format);
}

TEST(Golden, recipes_of_commands_and_of_results_are_written_as_they_were)
{
    for (const auto& [name, made] :
         {std::pair("v2_command.recipes", recipe_of_command()), std::pair("v3_result.recipes", recipe_of_result())}) {
        expect_as_it_was(name, format::encode_recipe(made), k_recipe_format);
        const std::string bytes = golden(name, "");
        const auto decoded = format::decode_recipes(as_bytes(bytes), "golden");
        ASSERT_TRUE(decoded.ok()) << decoded.error().message;
        EXPECT_EQ(decoded->recipes, std::vector{made});
    }
}

TEST(Golden, recipes_of_version_1_are_read_whatever_zstd_writes_today)
{
    expect_recipes_hold(golden("v1.recipes", ""));
    const std::string packed = golden("v1_zstd.recipes", recipe_bytes(3));
    EXPECT_LT(packed.size(), golden("v1.recipes", "").size()) << "it is not compressed at all";
    expect_recipes_hold(packed);
}

TEST(Golden, requests_of_version_1_are_explained)
{
    const std::string compile = golden("v1_compile.request", "");
    const auto fields = format::decode_request(as_bytes(compile));
    ASSERT_TRUE(fields);
    EXPECT_EQ(*fields, compile_request().fields());
    EXPECT_EQ(fields->at(3).display(), "-std=c++20  -DX=ü");
    const auto long_values = format::decode_request(as_bytes(golden("v1_long_values.request", "")));
    ASSERT_TRUE(long_values);
    EXPECT_EQ(*long_values, request_of_long_values().fields());
}

TEST(Golden, entries_with_xxh3_sums_are_encoded_as_they_were)
{
    if (!base::checksum(ChecksumKind::xxh3, {}))
        GTEST_SKIP() << "built without xxhash.h";
    expect_as_it_was("v1_xxh3.entry", entry_bytes(compile_request(), kernel(), ChecksumKind::xxh3), k_entry_format);
}

TEST(Golden, entries_of_version_1_are_read)
{
    expect_holds(golden("v1_sha256.entry", ""), compile_request(), kernel());
    expect_holds(golden("v1_failed.entry", ""), request_of_long_values(), failed_compile());
}

TEST(Golden, entries_of_version_1_with_xxh3_sums_are_read_or_left_alone)
{
    const std::string bytes = golden("v1_xxh3.entry", "");
    if (base::checksum(ChecksumKind::xxh3, {})) {
        expect_holds(bytes, compile_request(), kernel());
    } else {
        const format::DecodedEntry decoded = format::decode_entry(Bytes::copy_of(bytes), compile_request());
        EXPECT_FALSE(decoded.artifact);
        EXPECT_EQ(decoded.why, Miss::other_version);
    }
}

TEST(Golden, compressed_entries_of_version_1_are_read_whatever_zstd_writes_today)
{
    const std::string now = entry_bytes(compile_request(), kernel(), ChecksumKind::sha256, 3);
    const std::string then = golden("v1_zstd.entry", now);
    EXPECT_LT(then.size(), golden("v1_sha256.entry", "").size()) << "it is not compressed at all";
    expect_holds(then, compile_request(), kernel());
}

TEST(Golden, archives_of_version_1_are_read)
{
    SingleFile file(golden("v1.archive", ""));
    format::ArchiveReader archive = format::ArchiveReader::open(file, "v1.archive").value();
    expect_holds(std::string(archive.next().value().value().text()), compile_request(), kernel());
    expect_holds(std::string(archive.next().value().value().text()), request_of_long_values(), failed_compile());
    EXPECT_FALSE(archive.next().value());
}

TEST(Golden, bundles_of_version_1_are_read)
{
    for (const char* const name : {"v1.bundle", "v1_signed_delta.bundle"}) {
        SingleFile file(golden(name, ""));
        const auto bundle = format::BundleFile::open(file, name).value();
        EXPECT_EQ(bundle->head().header().entries, 2U);
        expect_bundle_holds(*bundle, compile_request(), kernel());
        expect_bundle_holds(*bundle, request_of_long_values(), failed_compile());
        EXPECT_EQ(bundle->head().facts().targets, (std::vector<bundles::Named>{{"sm_90a", 1}}));
    }
    SingleFile file(golden("v1_signed_delta.bundle", ""));
    const auto bundle = format::BundleFile::open(file, "v1_signed_delta.bundle").value();
    EXPECT_EQ(bundle->head().signer(), known_key().public_key());
    EXPECT_TRUE(bundle->head().is_signature_right());
    EXPECT_EQ(bundle->head().facts().base[31], 0xAB);
}

}  // namespace hearth::test
