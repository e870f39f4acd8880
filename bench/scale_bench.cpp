// The same operations on directories of a thousand, a hundred thousand and a million entries.

#include "benches.hpp"
#include "format/entry.hpp"
#include "hearth/hearth.hpp"
#include "sample_entries.hpp"
#include "scratch.hpp"
#include "tiers/disk/layout.hpp"
#include "timing.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace hearth::bench {

namespace {

constexpr std::size_t k_entry_bytes = 1024;
constexpr int k_fresh_processes = 21;
constexpr std::uint64_t k_stores = 512;

Cache open_disk(const std::string& directory, std::uint64_t max_entries)
{
    CacheOptions options;
    DiskOptions on_disk;
    on_disk.directory = directory;
    on_disk.max_bytes = 0;
    on_disk.max_entries = max_entries;
    options.tiers = {disk(on_disk)};
    options.maintenance = Maintenance::by_hand;
    return Cache::open(options).value();
}

// Writes the entries' files as a cache would have left them; the index is then rebuilt from them, which is timed too.
void fill(const std::string& directory, std::uint64_t entries)
{
    {
        (void)open_disk(directory, 0).insert(Key::of("bench", "first"), assembly_artifact(k_entry_bytes, 0));
    }
    const tiers::Layout layout(directory);
    for (unsigned shard = 0; shard < tiers::Layout::k_shards; ++shard)
        ::mkdir(layout.shard(shard).c_str(), 0700);
    const Artifact artifact = assembly_artifact(k_entry_bytes, 1);
    const auto write = [&](std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t i = from; i < to; ++i) {
            const Key key = numbered_key(i);
            const Bytes entry = format::encode_entry(key, artifact).value();
            const int fd = ::open(layout.entry(key).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
            const ssize_t put = ::write(fd, entry.data(), entry.size());
            keep(put);
            ::close(fd);
        }
    };
    std::thread half(write, 1, entries / 2);
    write(entries / 2, entries);
    half.join();
    ::unlink(layout.index().c_str());
}

struct Scale {
    Measured open_ms;
    Measured hit_us;
    Measured evict_us;
    Measured evict_floor_us;
    double rebuild_s = 0;
};

// Microseconds a store, of several rounds of stores.
template <class Store>
std::vector<double> rounds(const Store& store)
{
    std::vector<double> times;
    for (int round = 0; round < 9; ++round) {
        const std::uint64_t start = now_ns();
        for (std::uint64_t n = 0; n < k_stores; ++n)
            store(n);
        times.push_back(static_cast<double>(now_ns() - start) * 1e-3 / k_stores);
    }
    return times;
}

Scale measure(const Scratch& scratch, std::uint64_t entries)
{
    Scale scale;
    const std::string directory = scratch.path(fmt::format("scale-{}", entries));
    fill(directory, entries);
    const std::uint64_t start = now_ns();
    {
        (void)open_disk(directory, entries).insert(numbered_key(entries + 1), assembly_artifact(k_entry_bytes, 2));
    }
    scale.rebuild_s = static_cast<double>(now_ns() - start) * 1e-9;

    std::vector<double> opens;
    std::vector<double> hits;
    for (int i = 0; i < k_fresh_processes; ++i) {
        const std::string output = run_self(fmt::format("--child open '{}' {} {}", directory, entries, i));
        std::istringstream figures(output);
        double ns = 0;
        if (figures >> ns)
            opens.push_back(ns);
        while (figures >> ns)
            hits.push_back(ns);
    }
    scale.open_ms = median(opens) * 1e-6;
    scale.hit_us = median(hits) * 1e-3;

    // The directory is full: every store evicts one.
    const Artifact artifact = assembly_artifact(k_entry_bytes, 3);
    const std::vector<double> ours = [&] {
        Cache cache = open_disk(directory, entries);
        std::uint64_t number = entries * 2;
        return rounds([&](std::uint64_t) { (void)cache.insert(numbered_key(number++), artifact); });
    }();
    // Then, with the cache closed, what the file system takes for that much alone: a file created, written, renamed
    // into place, and one that has long been there unlinked. What is unlinked was not touched for as long as our
    // victims.
    const tiers::Layout layout(directory);
    std::uint64_t fresh = entries * 4;
    std::uint64_t old = 0;
    const std::vector<double> bare = rounds([&](std::uint64_t) {
        const Key key = numbered_key(fresh++);
        const Bytes entry = format::encode_entry(key, artifact).value();
        const std::string temporary = layout.temporaries() + "/bare";
        const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        keep(::write(fd, entry.data(), entry.size()));
        ::close(fd);
        ::rename(temporary.c_str(), layout.entry(key).c_str());
        // Some of them we have evicted already; a thousand entries are soon all new.
        while (++old < entries && ::unlink(layout.entry(numbered_key(old)).c_str()) != 0) {
        }
        if (old >= entries)
            ::unlink(layout.entry(numbered_key(fresh - k_stores)).c_str());
    });
    scale.evict_us = median(ours);
    scale.evict_floor_us = median(bare);
    return scale;
}

}  // namespace

// open DIRECTORY ENTRIES TURN: how long opening takes, then the first lookup of each of a hundred entries.
int open_child(const std::vector<std::string>& arguments)
{
    const std::uint64_t entries = std::strtoull(arguments.at(1).c_str(), nullptr, 10);
    const std::uint64_t turn = std::strtoull(arguments.at(2).c_str(), nullptr, 10);
    const std::uint64_t start = now_ns();
    Cache cache = open_disk(arguments.at(0), 0);
    const std::uint64_t opened = now_ns();
    fmt::print("{}", opened - start);
    // Entry 0 warms the process up. Of the others the first lookup counts: what the kernel takes to find a file among a
    // million is part of it, for us as for whoever uses us.
    for (std::uint64_t i = 0; i <= 100; ++i) {
        const Key key = numbered_key(i == 0 ? entries / 2 + 1 : 1 + (turn * 7919 + i * 104729) % (entries / 2));
        const std::uint64_t hit_start = now_ns();
        const bool hit = cache.find(key).hit();
        if (i > 0 && hit)
            fmt::print(" {}", now_ns() - hit_start);
    }
    fmt::print("\n");
    return 0;
}

void bench_scale(Report& report, Effort effort)
{
    const Scratch scratch;
    const Scale small = measure(scratch, 1000);
    const auto of_its_own = [&](const char* name, const Scale& scale) {
        report.add(fmt::format("open.{}_entries", name), scale.open_ms, "ms");
        report.add_beside(fmt::format("evicting_store.{}_entries", name), scale.evict_us, "us",
                          "create+write+rename+unlink alone", scale.evict_floor_us);
    };
    of_its_own("1e3", small);
    const auto beside_small = [&](const char* name, const Scale& scale) {
        of_its_own(name, scale);
        report.add_beside(fmt::format("disk_hit.{}_entries", name), scale.hit_us, "us",
                          "first lookups with 1e3 entries", small.hit_us);
        report.add_beside(fmt::format("eviction_flat.{}_entries", name), scale.evict_us, "us", "with 1e3 entries",
                          small.evict_us);
        report.add(fmt::format("index_rebuild.{}_entries", name), scale.rebuild_s, "s");
    };
    beside_small("1e5", measure(scratch, 100000));
    if (effort == Effort::full)
        beside_small("1e6", measure(scratch, 1000000));
    else
        report.note("A directory of a million entries was left out (--quick).");
}

}  // namespace hearth::bench
