// Device memory by key: leases, reads, inserts, beside what the driver alone takes for the same bytes; and host memory,
// which is the better place for what the host consumes. Without a GPU host memory stands in for it, and no bar counts.

#include "benches.hpp"
#include "gpu/cuda/cuda_context.hpp"
#include "gpu/cuda/cuda_gather.hpp"
#include "gpu/cuda/cuda_staging.hpp"
#include "hearth/hearth.hpp"
#include "sample_entries.hpp"
#include "timing.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <random>
#include <thread>

namespace hearth::bench {

namespace {

constexpr int k_times = 401;
constexpr std::size_t k_many = 1024;
constexpr std::size_t k_entries = 8192;  // enough that a lookup does not find its table in the nearest cache

struct Size {
    const char* name;
    std::size_t bytes;
};
constexpr Size k_sizes[] = {{"1k", 1 << 10}, {"10k", 10 << 10}, {"100k", 100 << 10}};

std::vector<double> times_us(int times, const std::function<void(int)>& work)
{
    std::vector<double> all;
    for (int i = 0; i < times; ++i) {
        const std::uint64_t start = now_ns();
        work(i);
        all.push_back(static_cast<double>(now_ns() - start) * 1e-3);
    }
    return all;
}

Measured median_us(int times, const std::function<void(int)>& work)
{
    return median(times_us(times, work));
}

Bytes random_bytes(std::size_t size, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    return Bytes::make(size, [&](std::span<std::byte> target) {
        for (std::byte& byte : target)
            byte = static_cast<std::byte>(random());
    });
}

// The driver alone: the floors.
class BareCuda {
public:
    explicit BareCuda(const gpu::CudaDriver& driver)
        : m_driver(driver), m_kept(gpu::KeptCudaContext::take(driver, 0, gpu::KeptCudaContext::Kind::primary).value())
    {
        driver.set_current(m_kept->context().handle);
        driver.create_stream(&m_stream, 1);
        driver.allocate(&m_device, k_many * k_spacing);
        m_pool = std::make_shared<gpu::CudaStagingPool>(m_kept);
        m_host = m_pool->take(k_many * (100 << 10));
        m_table = m_pool->take(k_many * sizeof(gpu::GatherStep));
        m_gather.load(driver);
    }
    ~BareCuda()
    {
        m_gather.unload(m_driver);
        m_host.reset();
        m_table.reset();
        m_pool.reset();
        m_driver.free(m_device);
        m_driver.destroy_stream(m_stream);
        m_driver.set_current(nullptr);
    }
    BareCuda(const BareCuda&) = delete;
    BareCuda& operator=(const BareCuda&) = delete;

    void enter() const { m_driver.set_current(m_kept->context().handle); }
    void copy_to_pinned(std::size_t bytes)
    {
        m_driver.copy_to_host(m_host->bytes().data(), m_device, bytes, m_stream);
        m_driver.finish_stream(m_stream);
    }
    // From scattered places into pinned memory, the table of them already written.
    void prepare_gather(std::size_t bytes)
    {
        auto* const steps = reinterpret_cast<gpu::GatherStep*>(m_table->bytes().data());
        const auto target = reinterpret_cast<std::uintptr_t>(m_host->bytes().data());
        for (std::size_t i = 0; i < k_many; ++i)
            steps[i] = {m_device + (i * 389 % k_many) * k_spacing, target + i * bytes, bytes};
    }
    void gather()
    {
        m_gather.launch(m_driver, {reinterpret_cast<gpu::GatherStep*>(m_table->bytes().data()), k_many}, m_stream);
        m_driver.finish_stream(m_stream);
    }
    // Into pinned memory and on its way: what an insert cannot do without. Round and round in as much as the tier has.
    void stage_and_issue(ByteView bytes)
    {
        if (m_staged + bytes.size() > k_ring) {
            m_driver.finish_stream(m_stream);
            m_staged = 0;
        }
        std::memcpy(m_host->bytes().data() + m_staged, bytes.data(), bytes.size());
        m_driver.copy_to_device(m_device, m_host->bytes().data() + m_staged, bytes.size(), m_stream);
        m_staged += bytes.size();
    }
    void finish() { m_driver.finish_stream(m_stream); }

private:
    static constexpr std::size_t k_spacing = 128 << 10;
    static constexpr std::size_t k_ring = 8 << 20;

    const gpu::CudaDriver& m_driver;
    const std::shared_ptr<const gpu::KeptCudaContext> m_kept;
    CUstream_st* m_stream = nullptr;
    std::uint64_t m_device = 0;
    std::size_t m_staged = 0;
    std::shared_ptr<gpu::CudaStagingPool> m_pool;
    std::unique_ptr<gpu::StagingBuffer> m_host;
    std::unique_ptr<gpu::StagingBuffer> m_table;
    gpu::CudaGather m_gather;
};

class VramBench {
public:
    VramBench(Report& report, BareCuda* bare) : m_report(report), m_bare(bare), m_cache(open(1_GiB)), m_ram(open_ram())
    {
    }

    void run()
    {
        fill();
        leases();
        reads();
        many();
        inserts();
        waste();
        const device::Report report = *m_cache.vram().report();
        m_report.note(fmt::format("vram.*: {} {}{}", to_string(report.backend), report.devices.front().name,
                                  report.fallback.empty() ? "" : ", as " + report.fallback));
    }

private:
    static Cache open(std::uint64_t bytes)
    {
        CacheOptions options;
        options.tiers = {vram(bytes)};
        options.maintenance = Maintenance::by_hand;
        return Cache::open(options).value();
    }
    static Cache open_ram()
    {
        CacheOptions options;
        options.tiers = {memory(1_GiB)};
        options.maintenance = Maintenance::by_hand;
        return Cache::open(options).value();
    }
    static Key key_of(const Size& size, std::uint64_t number) { return Key::of(size.name, number); }
    // Made beforehand: whoever asks for an entry has its key.
    static std::vector<Key> keys_of(const char* name, std::uint64_t first, std::size_t count)
    {
        std::vector<Key> keys;
        for (std::size_t i = 0; i < count; ++i)
            keys.push_back(Key::of(name, first + i));
        return keys;
    }
    // Host memory stands in for a GPU that is not there: rows of its own, which count for no bar.
    std::string row(const std::string& name) const { return (m_bare ? "vram." : "vram_without_gpu.") + name; }

    // Half of our tries before the floor's and half after, so that both see the same machine.
    Measured beside(const std::string& name, int times, const std::function<void(int)>& ours, const std::string& what,
                    const std::function<void(int)>& bare)
    {
        std::vector<double> tries = times_us(times, ours);
        const Measured floor = median_us(times, bare);
        const std::vector<double> again = times_us(times, ours);
        tries.insert(tries.end(), again.begin(), again.end());
        const Measured value = median(std::move(tries));
        m_report.add_beside(name, value, "us", what, floor);
        return value;
    }

    void fill()
    {
        for (const Size& size : k_sizes)
            for (std::uint64_t i = 0; i < (size.bytes > 50000 ? k_many : k_entries); ++i) {
                const Bytes bytes = random_bytes(size.bytes, i);
                (void)m_cache.vram().insert(key_of(size, i), bytes);
                if (i < k_many)
                    (void)m_ram.insert(key_of(size, i), Artifact(bytes));
            }
    }

    void leases()
    {
        std::vector<Key> keys;
        for (std::uint64_t i = 0; i < k_entries; ++i)
            keys.push_back(key_of(k_sizes[0], i));
        const Vram vram = m_cache.vram();
        const auto rate = [&](unsigned threads) {
            return throughput(threads, k_entries, [&](unsigned thread) {
                for (std::size_t n = 0; n < k_entries; ++n)
                    keep(vram.lease(keys[(n * 5 + thread * 977) % k_entries]).pointer());
            });
        };
        const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
        const Measured alone = rate(1);
        m_report.add(row("lease"), alone.inverse() * 1e3, "ns");
        m_report.add_beside(row("lease.all_cores"), rate(cores), "M/s", fmt::format("{} x one thread", cores),
                            alone * cores);
    }

    void reads()
    {
        const Vram vram = m_cache.vram();
        std::vector<std::byte> target(k_sizes[2].bytes);
        for (const Size& size : k_sizes) {
            const std::string name = row(fmt::format("read.{}", size.name));
            const std::vector<Key> keys = keys_of(size.name, 0, k_many);
            const auto key = [&](int i) -> const Key& { return keys[static_cast<std::size_t>(i) % k_many]; };
            const auto ours = [&](int i) { keep(vram.read(key(i))->bytes().data()); };
            median_us(50, ours);
            const auto bare = [&](int) { m_bare->copy_to_pinned(size.bytes); };
            const Measured first =
                m_bare ? beside(name, k_times, ours, "bare copy to pinned memory", bare) : median_us(k_times, ours);
            const Measured ram = median_us(k_times, [&](int i) {
                const Lookup found = m_ram.find(key(i));
                std::memcpy(target.data(), found->bytes().data(), size.bytes);
                keep(target.data());
            });
            m_report.add_beside(name + ".beside_ram", first, "us", "a hit in host memory and a copy", ram);
        }
        const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
        const auto rate = [&](unsigned threads) {
            return throughput(threads, 64, [&](unsigned thread) {
                if (m_bare)
                    m_bare->enter();
                for (std::uint64_t n = 0; n < 64; ++n)
                    keep(vram.read(key_of(k_sizes[0], (n * 13 + thread * 71) % k_many))->bytes().data());
            });
        };
        const Measured alone = rate(1);
        m_report.add_beside(row("read.1k.all_cores"), rate(cores) * 1e3, "k/s", "one thread", alone * 1e3);
    }

    void many()
    {
        const Vram vram = m_cache.vram();
        for (const Size& size : {k_sizes[0], k_sizes[1]}) {
            std::vector<Key> keys;
            for (std::uint64_t i = 0; i < k_many; ++i)
                keys.push_back(key_of(size, i * 5 % k_many));
            const std::string name = row(fmt::format("read_many.{}x{}", k_many, size.name));
            const auto ours = [&](int) { keep(vram.read_many(keys)->bytes(k_many - 1).data()); };
            median_us(5, ours);
            if (!m_bare) {
                m_report.add(name, median_us(k_times, ours), "us");
                continue;
            }
            m_bare->prepare_gather(size.bytes);
            const Measured first =
                beside(name, k_times, ours, "bare gather kernel to pinned memory", [&](int) { m_bare->gather(); });
            m_report.add_beside(name + ".beside_one_by_one", first, "us", "the same entries one by one",
                                median_us(21, [&](int) {
                                    for (const Key& key : keys)
                                        keep(vram.read(key)->bytes().data());
                                }));
        }
    }

    void inserts()
    {
        const Vram vram = m_cache.vram();
        for (const Size& size : k_sizes) {
            const Bytes bytes = random_bytes(size.bytes, 1);
            const Artifact artifact(bytes);
            const std::string name = row(fmt::format("insert.{}", size.name));
            constexpr int k_warm = 50;
            const std::vector<Key> keys = keys_of(size.name, 1U << 20U, k_warm + 2 * k_times);
            std::size_t next = 0;
            const auto ours = [&](int) { (void)vram.insert(keys[next++], artifact); };
            median_us(k_warm, ours);
            if (!m_bare) {
                m_report.add(name, median_us(k_times, ours), "us");
                continue;
            }
            beside(name, k_times, ours, "memcpy to pinned memory + cuMemcpyHtoDAsync",
                   [&](int) { m_bare->stage_and_issue(bytes); });
            m_bare->finish();
        }
    }

    // What an arena loses to alignment and to gaps no entry fits in, once it has turned over several times.
    void waste()
    {
        Cache cache = open(256_MiB);
        std::mt19937_64 random(1);
        const Bytes bytes = random_bytes(200 << 10, 1);
        for (std::uint64_t i = 0; i < 20'000; ++i) {
            const std::size_t size = random() % 4 == 0 ? random() % (200 << 10) : random() % (16 << 10);
            (void)cache.vram().insert(Key::of("waste", i), bytes.slice(0, size));
        }
        const device::PartitionUsage usage = cache.vram().report()->partitions.front();
        const auto percent = [&](std::uint64_t part) {
            return static_cast<double>(part) * 100 / static_cast<double>(usage.reserved_bytes);
        };
        m_report.add(row("arena_waste"), percent(usage.reserved_bytes - usage.bytes), "%");
        m_report.add(row("arena_waste.alignment"), percent(usage.allocated_bytes - usage.bytes), "%");
    }

    Report& m_report;
    BareCuda* const m_bare;
    Cache m_cache;
    Cache m_ram;
};

}  // namespace

void bench_vram(Report& report)
{
    std::unique_ptr<BareCuda> bare;
    if (const Result<const gpu::CudaDriver*> driver = gpu::cuda_driver())
        bare = std::make_unique<BareCuda>(**driver);
    else
        report.note("vram.*: no GPU, so host memory stands in for it, without floors and bars");
    VramBench(report, bare.get()).run();
}

}  // namespace hearth::bench
