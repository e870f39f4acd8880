// Hits and stores on disk, beside the bare system calls for the same bytes and beside two embedded databases.

#include "base/digest.hpp"
#include "benches.hpp"
#include "format/compression.hpp"
#include "format/entry.hpp"
#include "hearth/hearth.hpp"
#include "rival_stores.hpp"
#include "sample_entries.hpp"
#include "scratch.hpp"
#include "tiers/disk/layout.hpp"
#include "timing.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::bench {

namespace {

constexpr std::size_t k_entries = 64;
constexpr int k_tries = 41;
constexpr int k_fresh_processes = 41;
constexpr const char* k_floor = "open+fstat+read+close+check+unpack";

struct Size {
    const char* name;
    std::size_t bytes;
};
constexpr Size k_sizes[] = {{"4k", 4096}, {"124k", 124 << 10}};

Key key_for(std::size_t bytes, std::size_t number)
{
    return Key::of("bench.disk", bytes, number);
}

Cache open_disk(const std::string& directory, Switch durable = Switch::off)
{
    CacheOptions options;
    options.tiers = {disk({.directory = directory, .durable = durable})};
    options.maintenance = Maintenance::by_hand;
    return Cache::open(options).value();
}

// What any cache on disk has to do for these bytes, and nothing else: open, fstat, read, close, check, decompress.
void floor_hit(const std::string& path, std::size_t raw_size, std::size_t payload_at)
{
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat stat {};
    ::fstat(fd, &stat);
    const auto size = static_cast<std::size_t>(stat.st_size);
    const std::unique_ptr<std::byte[]> bytes(new std::byte[size]);
    const ssize_t got = ::read(fd, bytes.get(), size);
    ::close(fd);
    const ByteView all(bytes.get(), static_cast<std::size_t>(got));
    keep(base::checksum(base::preferred_checksum(), all.first(all.size() - 16)));
    const ByteView payload = all.subspan(payload_at, all.size() - payload_at - 16);
    if (payload.size() == raw_size)  // small ones are not compressed
        keep(Bytes::copy_of(payload));
    else
        keep(format::decompress(payload, raw_size));
}

// Where the only section's payload starts, for the floor: the same in all sample entries of a size.
std::size_t payload_offset(const Bytes& entry)
{
    const format::DecodedHead head = format::decode_head(entry);
    return head.needed;
}

void floor_store(const std::string& directory, std::size_t number, ByteView bytes, Switch durable = Switch::off)
{
    const std::string temporary = fmt::format("{}/tmp-{}", directory, number);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (durable == Switch::on)
        ::fsync(fd);
    ::close(fd);
    keep(put);
    ::rename(temporary.c_str(), fmt::format("{}/{}", directory, number).c_str());
    if (durable == Switch::on) {
        const int folder = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ::fsync(folder);
        ::close(folder);
    }
}

struct Hits {
    std::string directory;
    std::string rivals;  // where theirs are
    std::vector<Key> keys;
    std::vector<std::string> paths;
    std::size_t payload_at = 0;
};

std::string rival_directory(const std::string& rivals, const RivalKind& kind)
{
    return fmt::format("{}/{}", rivals, kind.row);
}

Hits fill(const Scratch& scratch, const Size& size)
{
    Hits all;
    all.directory = scratch.path(std::string("hits-") + size.name);
    all.rivals = scratch.path(std::string("rivals-") + size.name);
    Cache cache = open_disk(all.directory);
    const tiers::Layout layout(all.directory);
    std::vector<Bytes> entries;
    for (std::size_t i = 0; i < k_entries; ++i) {
        const Artifact artifact = assembly_artifact(size.bytes, i);
        all.keys.push_back(key_for(size.bytes, i));
        (void)cache.insert(all.keys.back(), artifact);
        all.paths.push_back(layout.entry(all.keys.back()));
        entries.push_back(format::encode_entry(all.keys.back(), artifact).value());
        all.payload_at = payload_offset(entries.back());
    }
    for (const RivalKind& kind : rival_stores()) {
        const std::unique_ptr<RivalStore> rival = kind.open(rival_directory(all.rivals, kind));
        for (std::size_t i = 0; i < k_entries; ++i)
            rival->put(all.keys[i], entries[i]);
    }
    return all;
}

void warm_hits(Report& report, const Hits& all, const Size& size)
{
    Cache cache = open_disk(all.directory);
    const auto ours = [&] {
        for (const Key& key : all.keys)
            keep(cache.find(key)->status);
    };
    const auto floor = [&] {
        for (const std::string& path : all.paths)
            floor_hit(path, size.bytes, all.payload_at);
    };
    const double microseconds = 1e6 / k_entries;
    const Pair beside_floor = side_by_side(k_tries, ours, floor);
    const std::string name = std::string("disk_hit.") + size.name;
    report.add_beside(name, beside_floor.first * microseconds, "us", k_floor, beside_floor.second * microseconds);
    for (const RivalKind& kind : rival_stores()) {
        const std::unique_ptr<RivalStore> rival = kind.open(rival_directory(all.rivals, kind));
        const Pair beside_rival = side_by_side(k_tries, ours, [&] {
            for (const Key& key : all.keys)
                keep(format::decode_entry(rival->get(key), key).artifact->status);
        });
        report.add_beside(fmt::format("{}.{}", name, kind.row), beside_rival.first * microseconds, "us",
                          rival->name() + " get + the same decoding", beside_rival.second * microseconds);
    }
}

// Each process does one thing only, and all kinds take turns.
void fresh_hits(Report& report, const Hits& all, const Size& size)
{
    std::vector<std::string> ways{"hit", "floor", "process"};
    for (const RivalKind& kind : rival_stores())
        ways.push_back(kind.row);
    std::vector<std::vector<double>> times(ways.size());
    for (int i = 0; i < k_fresh_processes; ++i)
        for (std::size_t way = 0; way < ways.size(); ++way) {
            const std::string output = run_self(fmt::format("--child disk '{}' '{}' {} {} {}", all.directory,
                                                            all.rivals, size.bytes, all.payload_at, ways[way]));
            double ns = 0;
            if (std::sscanf(output.c_str(), "%lf", &ns) == 1)
                times[way].push_back(ns * 1e-3);
        }
    report.add_beside(fmt::format("disk_hit.{}.fresh_process", size.name), median(times[0]), "us",
                      fmt::format("{}, fresh process", k_floor), median(times[1]));
    for (std::size_t way = 3; way < ways.size(); ++way)
        report.add_beside(fmt::format("disk_process.{}.{}", size.name, ways[way]), median(times[2]), "us",
                          "open + get + decode + close, fresh process", median(times[way]));
}

void bench_stores(Report& report, const Scratch& scratch, const Size& size)
{
    Cache cache = open_disk(scratch.path(std::string("stores-") + size.name));
    const std::string bare = scratch.path(std::string("bare-") + size.name);
    ::mkdir(bare.c_str(), 0700);
    std::size_t number = 0;
    std::vector<Artifact> artifacts;
    std::vector<Bytes> encoded;
    for (std::size_t i = 0; i < k_entries; ++i) {
        artifacts.push_back(assembly_artifact(size.bytes, i));
        encoded.push_back(format::encode_entry(key_for(size.bytes, i), artifacts.back()).value());
    }
    const Pair pair = side_by_side(
        9,
        [&] {
            for (const Artifact& artifact : artifacts)
                (void)cache.insert(key_for(size.bytes, 1000 + number++), artifact);
        },
        [&] {
            for (std::size_t i = 0; i < encoded.size(); ++i) {
                keep(format::encode_entry(key_for(size.bytes, i), artifacts[i]));
                floor_store(bare, number++, encoded[i]);
            }
        });
    const double microseconds = 1e6 / k_entries;
    report.add_beside(std::string("store.") + size.name, pair.first * microseconds, "us",
                      "encode+create+write+close+rename", pair.second * microseconds);
}

// One store a turn: a disk may take milliseconds for each. The first in a shard syncs the folders above it as well.
void bench_durable_store(Report& report, const Scratch& scratch)
{
    static constexpr std::size_t k_bytes = 4096;
    Cache cache = open_disk(scratch.path("stores-durable"), Switch::on);
    const std::string bare = scratch.path("bare-durable");
    ::mkdir(bare.c_str(), 0700);
    const Artifact artifact = assembly_artifact(k_bytes, 0);
    const Bytes encoded = format::encode_entry(key_for(k_bytes, 0), artifact).value();
    std::size_t number = 0;
    const Pair pair = side_by_side(
        k_tries, [&] { (void)cache.insert(key_for(k_bytes, 5000 + number++), artifact); },
        [&] {
            keep(format::encode_entry(key_for(k_bytes, 0), artifact));
            floor_store(bare, number++, encoded, Switch::on);
        });
    report.add_beside("store.4k.durable", pair.first * 1e6, "us", "the same with fsync of file and folder",
                      pair.second * 1e6);
}

}  // namespace

// disk DIRECTORY RIVALS BYTES PAYLOAD_AT WAY: what one hit takes in a process that has done nothing before. The ways:
// hit and floor, the cache open; process, with opening and closing it; or a rival's name, with the same.
int disk_child(const std::vector<std::string>& arguments)
{
    const std::string& directory = arguments.at(0);
    const std::size_t bytes = std::strtoull(arguments.at(2).c_str(), nullptr, 10);
    const std::string& way = arguments.at(4);
    const Key key = key_for(bytes, 1);
    std::uint64_t start = now_ns();
    if (way == "hit" || way == "floor") {
        Cache cache = open_disk(directory);
        const std::string path = tiers::Layout(directory).entry(key);
        const std::size_t payload_at = std::strtoull(arguments.at(3).c_str(), nullptr, 10);
        start = now_ns();
        if (way == "hit")
            keep(cache.find(key)->status);
        else
            floor_hit(path, bytes, payload_at);
        fmt::print("{}\n", now_ns() - start);
        return 0;
    }
    if (way == "process") {
        Cache cache = open_disk(directory);
        keep(cache.find(key)->status);
    }
    for (const RivalKind& kind : rival_stores())
        if (kind.row == way)
            keep(format::decode_entry(kind.open(rival_directory(arguments.at(1), kind))->get(key), key)
                     .artifact->status);
    fmt::print("{}\n", now_ns() - start);
    return 0;
}

void bench_disk(Report& report)
{
    const Scratch scratch;
    for (const Size& size : k_sizes) {
        const Hits all = fill(scratch, size);
        warm_hits(report, all, size);
        fresh_hits(report, all, size);
    }
    for (const Size& size : k_sizes)
        bench_stores(report, scratch, size);
    bench_durable_store(report, scratch);
}

}  // namespace hearth::bench
