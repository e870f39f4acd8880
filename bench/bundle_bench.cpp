// Opening a bundle and hits in it, beside the same entries in a directory.

#include "base/digest.hpp"
#include "benches.hpp"
#include "format/bundle_file.hpp"
#include "format/bundle_writer.hpp"
#include "format/entry.hpp"
#include "hearth/hearth.hpp"
#include "sample_entries.hpp"
#include "scratch.hpp"
#include "timing.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>

namespace hearth::bench {

namespace {

constexpr std::size_t k_entries = 64;
constexpr int k_tries = 41;
constexpr int k_fresh_processes = 41;
constexpr std::uint64_t k_many = 100'000;

struct Size {
    const char* name;
    std::size_t bytes;
};
constexpr Size k_sizes[] = {{"4k", 4096}, {"124k", 124 << 10}};

Cache open_with(TierSpec tier)
{
    CacheOptions options;
    options.tiers = {std::move(tier)};
    options.maintenance = Maintenance::by_hand;
    return Cache::open(options).value();
}

void bench_hits(Report& report, const Scratch& scratch, const Size& size)
{
    const std::string file = scratch.path(std::string("bundle-") + size.name);
    Cache on_disk = open_with(disk(scratch.path(std::string("disk-") + size.name)));
    std::vector<Key> keys;
    for (std::size_t i = 0; i < k_entries; ++i) {
        keys.push_back(Key::of("bench.bundle", size.bytes, i));
        (void)on_disk.insert(keys.back(), assembly_artifact(size.bytes, i));
    }
    (void)bundles::create(file, on_disk);
    Cache in_bundle = open_with(bundle(file));
    const auto find_all = [&keys](Cache& cache) {
        for (const Key& key : keys)
            keep(cache.find(key)->status);
    };
    const Pair pair = side_by_side(
        k_tries, [&] { find_all(in_bundle); }, [&] { find_all(on_disk); });
    report.add_beside(std::string("bundle_hit.") + size.name, pair.first * (1e6 / k_entries), "us",
                      "the same in the disk tier", pair.second * (1e6 / k_entries));
    // With signatures demanded every entry is also digested.
    const SigningKey signer = SigningKey::generate().value();
    (void)bundles::merge(file + "-signed", {file}, {.sign_with = signer});
    BundleOptions demanding{.path = file + "-signed"};
    demanding.trust = {Signatures::demanded, {signer.public_key()}, {}};
    Cache signed_only = open_with(bundle(demanding));
    const Pair beside_plain = side_by_side(
        k_tries, [&] { find_all(signed_only); }, [&] { find_all(in_bundle); });
    report.add_beside(std::string("bundle_hit.") + size.name + ".signed", beside_plain.first * (1e6 / k_entries), "us",
                      "where no signature is demanded", beside_plain.second * (1e6 / k_entries));
}

void make_large(const std::string& file)
{
    const Artifact artifact = assembly_artifact(1024, 1);
    std::vector<Key> keys;
    for (std::uint64_t i = 0; i < k_many; ++i)
        keys.push_back(numbered_key(i));
    std::sort(keys.begin(), keys.end());
    format::BundleWriter writer(base::system_files(), file, keys.size());
    for (const Key& key : keys)
        (void)writer.add(format::encode_entry(key, artifact).value());
    (void)writer.finish({}, nullptr);
}

// What opening cannot do without: the bytes that lead to all others, read and digested.
void floor_open(const std::string& file, std::size_t bytes)
{
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    const std::unique_ptr<std::byte[]> head(new std::byte[bytes]);
    keep(::pread(fd, head.get(), bytes, 0));
    ::close(fd);
    keep(base::sha256({head.get(), bytes}));
}

void bench_open(Report& report, const Scratch& scratch)
{
    const std::string file = scratch.path("large.bundle");
    make_large(file);
    const auto open = [&] { return format::BundleFile::open(base::system_files(), file).value(); };
    const std::size_t head = open()->head().header().page_at(0);
    const Pair opening = side_by_side(
        201, [&] { keep(open()); }, [&] { floor_open(file, head); });
    report.add_beside("bundle_open.1e5_entries", opening.first * 1e6, "us", "open+read+SHA-256 of its head",
                      opening.second * 1e6);

    std::vector<double> opens;
    std::vector<double> firsts;
    std::vector<double> hits;
    for (int i = 0; i < k_fresh_processes; ++i) {
        double opened = 0;
        double first = 0;
        double hit = 0;
        const std::string output = run_self(fmt::format("--child bundle '{}' {}", file, i));
        if (std::sscanf(output.c_str(), "%lf %lf %lf", &opened, &first, &hit) == 3) {
            opens.push_back(opened);
            firsts.push_back(first);
            hits.push_back(hit);
        }
    }
    report.add("bundle_open.1e5_entries.fresh_process", median(opens) * 1e-3, "us");
    report.add_beside("bundle_hit.1e5_entries.first_of_its_page", median(firsts) * 1e-3, "us",
                      "once the page is in memory", median(hits) * 1e-3);
}

}  // namespace

// bundle FILE TURN: how long opening it takes, a hit whose page of the index nobody has read, and one whose page is
// there.
int bundle_child(const std::vector<std::string>& arguments)
{
    const std::uint64_t turn = std::strtoull(arguments.at(1).c_str(), nullptr, 10);
    const std::uint64_t start = now_ns();
    Cache cache = open_with(bundle(arguments.at(0)));
    const std::uint64_t opened = now_ns();
    std::vector<double> firsts;
    std::vector<double> hits;
    // The same entry twice: its own bytes are as near the second time as they can be.
    for (std::uint64_t i = 0; i < 50; ++i) {
        const Key key = numbered_key((turn * 7919 + i * 104729) % k_many);
        for (std::vector<double>* times : {&firsts, &hits}) {
            const std::uint64_t hit_start = now_ns();
            keep(cache.find(key).hit());
            times->push_back(static_cast<double>(now_ns() - hit_start));
        }
    }
    fmt::print("{} {} {}\n", opened - start, median(firsts).value, median(hits).value);
    return 0;
}

void bench_bundle(Report& report)
{
    const Scratch scratch;
    for (const Size& size : k_sizes)
        bench_hits(report, scratch, size);
    bench_open(report, scratch);
}

}  // namespace hearth::bench
