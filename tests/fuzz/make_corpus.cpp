// Writes those inputs of the fuzzers that are binary, for when such a format has changed: one small example of
// everything each decoder can meet. What is text is in corpus/ alone, to be edited there.
//
//   make_corpus FOLDER     FOLDER/NAME/* for each NAME_fuzz; files that are there, such as failures kept, stay

#include "engine/stats/stats_note.hpp"
#include "format/archive.hpp"
#include "format/bundle_writer.hpp"
#include "format/entry.hpp"
#include "format/recipe.hpp"
#include "format/request.hpp"
#include "remote/breaker.hpp"
#include "support/forged_entry.hpp"
#include "support/single_file.hpp"
#include "tiers/disk/index.hpp"
#include "watch/manifest.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace hearth;
namespace fs = std::filesystem;

using Inputs = std::map<std::string, std::string>;  // by the name of the file
using Strings = std::vector<std::string>;

std::string text_of(const Bytes& bytes)
{
    return std::string(bytes.text());
}

Request compile()
{
    return KeyBuilder("nvrtc")
        .text("source", "__global__ void k() {}")
        .list("options", Strings{"-std=c++20", "-G"})
        .bytes("compiler", as_bytes("\x01\x02\x03"))
        .number("registers", 64)
        .flag("debug", true)
        .build();
}

Inputs requests()
{
    return {{"domain_only", text_of(Request::of("d").encoding())},
            {"every_kind", text_of(compile().encoding())},
            {"digests", text_of(KeyBuilder("d")
                                    .text("t", std::string(200, 't'))
                                    .bytes("b", as_bytes(std::string(200, 'b')))
                                    .list("l", Strings(600, "item"))
                                    .build()
                                    .encoding())},
            {"empty_list", text_of(Request::of("d", Strings{}, Strings{""}).encoding())}};
}

Inputs manifests()
{
    watch::ConditionSet set;
    set.result = Key::of("result", "one");
    set.conditions = {
        {.kind = watch::Condition::Kind::content, .spot = {watch::Spot::From::directory, 1, "cub/a.cuh"}},
        {.kind = watch::Condition::Kind::absent, .spot = {watch::Spot::From::directory, 0, "a.h"}, .same_file = 1},
        {.kind = watch::Condition::Kind::variable, .name = "NVRTC_APPEND_FLAGS", .text = "-G", .same_file = 2},
        {.kind = watch::Condition::Kind::variable_digest, .name = "API_TOKEN", .same_file = 3},
        {.kind = watch::Condition::Kind::place,
         .spot = {watch::Spot::From::program_directory, 0, ""},
         .text = "/opt",
         .same_file = 4}};
    watch::Manifest manifest;
    manifest.next = 1;
    manifest.add(set);
    return {{"empty", text_of(watch::encode_manifest({}))}, {"one_set", text_of(watch::encode_manifest(manifest))}};
}

Inputs recipes()
{
    const auto content = [](const std::string& text, int compression) {
        return format::encode_content(base::sha256(as_bytes(text)), as_bytes(text), compression);
    };
    format::Recipe recipe;
    recipe.key = compile().key();
    recipe.source = base::sha256(as_bytes("source"));
    recipe.name = "k.cu";
    recipe.options = {"-arch=sm_90", ""};
    recipe.names = {"k<float>"};
    recipe.given = {{"given.h", recipe.source}};
    recipe.files = {{"/inc/a.h", "I:a.h", recipe.source, false}, {"b.h", "P:b.h", recipe.source, true}};
    recipe.target = "sm_90";
    recipe.why_past_the_cache = "a reason";
    recipe.all_paths_matter = true;
    const std::string use = format::encode_use({recipe.key, 2, std::chrono::seconds(1), 7, std::chrono::seconds(9)});
    format::Recipe command = recipe;
    command.kind = format::RecipeKind::command;
    command.conditions = recipe.source;
    format::Recipe result = recipe;
    result.kind = format::RecipeKind::result;
    return {{"plain_content", content("source", 0)},
            {"packed_content", content(std::string(300, 's'), 3)},
            {"recipe", format::encode_recipe(recipe)},
            {"command", format::encode_recipe(command)},
            {"result", format::encode_recipe(result)},
            {"use", use},
            {"all", content("source", 0) + format::encode_recipe(recipe) + use + use},
            {"torn", use.substr(0, 40) + format::encode_recipe({}) + use.substr(0, 20)}};
}

Artifact artifact()
{
    Artifact result;
    result.sections = {
        {"ptx", Bytes::copy_of(std::string(300, 'p'))}, {"log", Bytes::copy_of("warning")}, {"", Bytes{}}};
    result.metadata = {"kernel", "nvrtc 12.4", "sm_90", {"-O3", ""}};
    result.request = compile().encoding();
    result.cost = std::chrono::milliseconds(5);
    result.created = WallTime(std::chrono::seconds(1'700'000'000));
    return result;
}

std::string entry(const Artifact& of, int compression, base::ChecksumKind kind)
{
    return text_of(format::encode_entry(compile(), of, {compression, kind}).value());
}

Inputs entries()
{
    test::ForgedEntry next_version;
    next_version.version = 2;
    test::ForgedEntry unknown_tag;
    unknown_tag.metadata = test::ForgedEntry::metadata_item(9, "new") + test::ForgedEntry::metadata_item(1, "label");
    unknown_tag.rows = {{"", 0, "data"}};
    return {{"empty", entry(Artifact{}, 0, base::ChecksumKind::sha256)},
            {"plain", entry(artifact(), 0, base::ChecksumKind::sha256)},
            {"compressed", entry(artifact(), 1, base::ChecksumKind::sha256)},
            {"xxh3", entry(artifact(), 1, base::preferred_checksum())},
            {"next_version", next_version.bytes()},
            {"unknown_tag", unknown_tag.bytes()},
            {"magic_only", "\x89HEARTH\n"}};
}

std::string archive(const Strings& records)
{
    test::SingleFile file;
    format::ArchiveWriter writer(file, "archive");
    for (const std::string& record : records)
        if (!writer.add(as_bytes(record)).ok())
            throw std::runtime_error("an archive cannot be written");
    if (!writer.finish().ok())
        throw std::runtime_error("an archive cannot be finished");
    return file.content();
}

Inputs archives()
{
    const std::string small = entry(Artifact("x"), 0, base::ChecksumKind::sha256);
    return {{"empty", archive({})},
            {"entries", archive({small, small})},
            {"no_entries", archive({"", "a", std::string(100, 'b')})},
            {"cut", archive({small}).substr(0, 100)}};
}

std::string bundle(std::uint64_t entries, bool as_delta)
{
    std::map<Key, std::string> sorted;
    for (std::uint64_t number = 0; number < entries; ++number) {
        Artifact one("x");
        one.metadata = {"kernel", "nvrtc 12.4", number % 2 == 0 ? "sm_80" : "sm_90", {}};
        sorted[Key::of("fuzz", number)] =
            text_of(format::encode_entry(Key::of("fuzz", number), one, {0, base::ChecksumKind::sha256}).value());
    }
    test::SingleFile file;
    format::BundleWriter writer(file, "bundle", entries);
    for (const auto& [key, bytes] : sorted)
        if (!writer.add(as_bytes(bytes)).ok())
            throw std::runtime_error("a bundle cannot be written");
    base::Sha256 older{};
    older.fill(as_delta ? 0xAB : 0);
    if (!writer.finish(older, nullptr).ok())
        throw std::runtime_error("a bundle cannot be finished");
    return file.content();
}

Inputs bundle_files()
{
    return {{"empty", bundle(0, false)},
            {"one_entry", bundle(1, false)},
            {"delta", bundle(3, true)},
            {"cut", bundle(3, false).substr(0, 1700)}};
}

// The 256 bytes of the header that are used, and the first records: the short form of index_fuzz.cpp.
std::string index(const std::function<void(tiers::Index&)>& change)
{
    test::SingleFile file;
    tiers::Index made(file, "index", {});
    if (made.create({}) != 0)
        throw std::runtime_error("an index cannot be made");
    change(made);
    return file.content().substr(0, 256) +
           file.content().substr(tiers::Index::k_header_bytes, 5 * tiers::Index::k_record_bytes);
}

tiers::IndexRecord record(std::uint64_t number)
{
    tiers::IndexRecord result;
    result.key = Key::of("fuzz", number);
    result.bytes = 100 + number;
    result.tick = 1'700'000'000'000'000'000 + number;
    result.cost = 1.5F;
    result.uses = static_cast<std::uint32_t>(number);
    result.created = 1'700'000'000;
    result.last_used = 1'700'000'100;
    return result;
}

Inputs indexes()
{
    const auto add = [](tiers::Index& to, std::uint64_t number) { to.add(record(number), [] { return 0; }); };
    // Killed between the announcement and the record: the header is what was on disk at that moment.
    const auto killed = [](bool removing) {
        test::SingleFile file;
        tiers::Index made(file, "index", {});
        made.create({record(1)});
        std::string announced;
        const auto perform = [&] {
            announced = file.content();
            return 0;
        };
        if (removing)
            made.remove(record(1).key, perform);
        else
            made.add(record(2), perform);
        return announced.substr(0, 256) +
               announced.substr(tiers::Index::k_header_bytes, 2 * tiers::Index::k_record_bytes);
    };
    return {{"empty", index([](tiers::Index&) {})},
            {"three_records", index([&](tiers::Index& to) {
                 for (std::uint64_t number = 1; number <= 3; ++number)
                     add(to, number);
             })},
            {"after_removal", index([&](tiers::Index& to) {
                 add(to, 1);
                 add(to, 2);
                 to.remove(record(1).key, [] { return 0; });
             })},
            {"two_records_of_one_key", index([&](tiers::Index& to) { add(to, 1); }).substr(0, 336) +
                                           index([&](tiers::Index& to) { add(to, 1); }).substr(256, 80)},
            {"killed_while_adding", killed(false)},
            {"killed_while_removing", killed(true)}};
}

Inputs stats_notes()
{
    Stats stats;
    stats.hits = 10;
    stats.misses[1] = 2;
    stats.compile_ns_spent = 123456789;
    TierStats tier;
    tier.name = "disk";
    tier.hits = 3;
    tier.latency.add(1500, 3);
    stats.tiers.push_back(tier);
    tier.name = "tier.with points";
    tier.corrupt = UINT64_MAX;
    stats.tiers.push_back(tier);
    return {{"nothing", text_of(engine::encode_stats(Stats{}))},
            {"counts", text_of(engine::encode_stats(stats))},
            {"unknown_names",
             "hearth stats 1\nnew 1\ntier.disk.new 2\ntier. 3\ntier.. 4\n 5\n\nhits -1\nhits 1e9\nsum 0\n"}};
}

Inputs breakers()
{
    using remotes::Breaker;
    using Failure = Breaker::Failure;
    constexpr std::uint64_t k_now = 1'700'000'000'000'000'000;  // as breaker_fuzz.cpp has it
    const auto after = [](std::uint64_t now, Failure failure, int times, bool works_again = false) {
        test::SingleFile file;
        Breaker breaker(
            "state/remote", [now] { return now; }, Users::one, file);
        for (int i = 0; i < times; ++i)
            breaker.failed(failure);
        if (works_again)
            breaker.succeeded();
        return file.content();
    };
    return {{"working", after(k_now, Failure::server, 1, true)},
            {"down", after(k_now, Failure::server, 1)},
            {"down_for_long", after(k_now, Failure::refusal, 1)},
            {"over", after(k_now - 10'000'000'000, Failure::server, 3)},
            {"clock_set_back", after(k_now + 3'600'000'000'000, Failure::server, 1)},
            {"long_pause",
             after(k_now, Failure::server, 1).substr(0, 16) + std::string("\x00\x00\x00\x80\x00\x00\x00\x00", 8)},
            {"empty", ""}};
}

void write(const fs::path& folder, const Inputs& inputs)
{
    fs::create_directories(folder);
    for (const auto& [name, bytes] : inputs) {
        std::ofstream file(folder / name, std::ios::binary | std::ios::trunc);
        file << bytes;
        if (!file.flush())
            throw std::runtime_error("cannot write " + (folder / name).string());
    }
}

}  // namespace

int main(int count, char** words)
{
    if (count != 2) {
        std::cerr << "usage: " << words[0] << " FOLDER\n";
        return 2;
    }
    try {
        const fs::path folder = words[1];
        write(folder / "request", requests());
        write(folder / "manifest", manifests());
        write(folder / "recipe", recipes());
        write(folder / "entry", entries());
        write(folder / "archive", archives());
        write(folder / "bundle", bundle_files());
        write(folder / "index", indexes());
        write(folder / "stats_note", stats_notes());
        write(folder / "breaker", breakers());
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 3;
    }
    return 0;
}
