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
constexpr int k_fresh_processes = 60;

struct Size {
    const char* name;
    std::size_t bytes;
};
constexpr Size k_sizes[] = {{"4k", 4096}, {"124k", 124 << 10}};

Key key_for(std::size_t bytes, std::size_t number)
{
    return Key::of("bench.disk", bytes, number);
}

Cache open_disk(const std::string& directory)
{
    CacheOptions options;
    options.tiers = {disk(directory)};
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

void floor_store(const std::string& directory, std::size_t number, ByteView bytes)
{
    const std::string temporary = fmt::format("{}/tmp-{}", directory, number);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    ::close(fd);
    keep(put);
    ::rename(temporary.c_str(), fmt::format("{}/{}", directory, number).c_str());
}

void bench_hits(Report& report, const Scratch& scratch, const Size& size)
{
    const std::string directory = scratch.path(std::string("hits-") + size.name);
    Cache cache = open_disk(directory);
    const tiers::Layout layout(directory);
    const auto rivals = rival_stores(scratch.path(std::string("rivals-") + size.name));
    std::vector<Key> keys;
    std::vector<std::string> paths;
    std::size_t payload_at = 0;
    for (std::size_t i = 0; i < k_entries; ++i) {
        const Artifact artifact = assembly_artifact(size.bytes, i);
        keys.push_back(key_for(size.bytes, i));
        (void)cache.insert(keys.back(), artifact);
        paths.push_back(layout.entry(keys.back()));
        const Bytes entry = format::encode_entry(keys.back(), artifact).value();
        payload_at = payload_offset(entry);
        for (const auto& rival : rivals)
            rival->put(keys.back(), entry);
    }
    const auto ours = [&] {
        for (const Key& key : keys)
            keep(cache.find(key)->status);
    };
    const auto floor = [&] {
        for (const std::string& path : paths)
            floor_hit(path, size.bytes, payload_at);
    };
    const double microseconds = 1e6 / k_entries;
    const Pair beside_floor = side_by_side(k_tries, ours, floor);
    const std::string name = std::string("disk_hit.") + size.name;
    report.add_beside(name, beside_floor.first * microseconds, "us", "open+fstat+read+close+check+unpack",
                      beside_floor.second * microseconds, 2.0);
    for (const auto& rival : rivals) {
        const Pair beside_rival = side_by_side(k_tries, ours, [&] {
            for (const Key& key : keys)
                keep(format::decode_entry(rival->get(key), key).artifact->status);
        });
        report.add_beside(fmt::format("{}.{}", name, rival->name() == "SQLite" ? "sqlite" : "lmdb"),
                          beside_rival.first * microseconds, "us", rival->name() + " get + the same decoding",
                          beside_rival.second * microseconds);
    }

    cache.flush();
    std::vector<double> fresh;
    std::vector<double> fresh_floor;
    for (int i = 0; i < k_fresh_processes; ++i) {
        const std::string output =
            run_self(fmt::format("--child disk '{}' {} {} {}", directory, size.bytes, payload_at, i));
        double first = 0;
        double second = 0;
        if (std::sscanf(output.c_str(), "%lf %lf", &first, &second) == 2) {
            fresh.push_back(first);
            fresh_floor.push_back(second);
        }
    }
    report.add_beside(name + ".fresh_process", median(fresh) * 1e-3, "us", "the same calls, fresh process",
                      median(fresh_floor) * 1e-3, 2.0);
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

}  // namespace

// disk DIRECTORY BYTES PAYLOAD_AT TURN: one hit and one bare read in a process that has done neither before.
int disk_child(const std::vector<std::string>& arguments)
{
    const std::string& directory = arguments.at(0);
    const std::size_t bytes = std::strtoull(arguments.at(1).c_str(), nullptr, 10);
    const std::size_t payload_at = std::strtoull(arguments.at(2).c_str(), nullptr, 10);
    const int turn = std::atoi(arguments.at(3).c_str());
    Cache cache = open_disk(directory);
    const Key ours_key = key_for(bytes, 1);
    const std::string floor_path = tiers::Layout(directory).entry(key_for(bytes, 2));
    std::uint64_t ours = 0;
    std::uint64_t floor = 0;
    const auto run_ours = [&] {
        const std::uint64_t start = now_ns();
        keep(cache.find(ours_key)->status);
        ours = now_ns() - start;
    };
    const auto run_floor = [&] {
        const std::uint64_t start = now_ns();
        floor_hit(floor_path, bytes, payload_at);
        floor = now_ns() - start;
    };
    // Each is first in every other process: what the first one warms up must not always help the same side.
    if (turn % 2 == 0) {
        run_ours();
        run_floor();
    } else {
        run_floor();
        run_ours();
    }
    fmt::print("{} {}\n", ours, floor);
    return 0;
}

void bench_disk(Report& report)
{
    const Scratch scratch;
    for (const Size& size : k_sizes)
        bench_hits(report, scratch, size);
    for (const Size& size : k_sizes)
        bench_stores(report, scratch, size);
}

}  // namespace hearth::bench
