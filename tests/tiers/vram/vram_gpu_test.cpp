// Device memory on a real GPU: kernels read what leases point to, in place.

#include "base/shared_library.hpp"
#include "gpu_fixture.hpp"
#include "hearth/hearth.hpp"
#include "support/in_threads.hpp"
#include "support/open_cache.hpp"
#include "support/sample_entries.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <new>
#include <optional>

namespace hearth::test {

namespace {

// Makes the bytes of sample_bytes() again, on the device, and counts those that differ.
constexpr const char* k_check = R"(
extern "C" __global__ void check(const unsigned char* bytes, unsigned long long size, unsigned long long start, int* wrong)
{
    const unsigned long long stride = gridDim.x * blockDim.x;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i * 8 < size; i += stride) {
        const unsigned long long state = start + (i + 1) * 0x9E3779B97F4A7C15ull;
        unsigned long long word = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
        word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
        word ^= word >> 31;
        for (int b = 0; b < 8 && i * 8 + b < size; ++b)
            if (bytes[i * 8 + b] != (unsigned char)(word >> (8 * b)))
                atomicAdd(wrong, 1);
    }
})";

class VramGpu : public GpuFixture {
protected:
    void TearDown() override
    {
        cuda::unload_unused_modules();
        GpuFixture::TearDown();
    }

    Cache open(VramOptions options)
    {
        options.backend = device::Backend::cuda;
        options.fallback = device::Fallback::none;
        return open_cache("", {.tiers = {vram(options), disk(m_scratch / "disk")}});
    }
    static std::uint64_t start_of(const Key& key, std::uint64_t size, std::uint64_t version = 0)
    {
        return key.hash() ^ (version * 0xD1B54A32D192ED03U) ^ size;
    }
};

// A counter on the device.
class Wrong {
public:
    explicit Wrong(const gpu::CudaDriver& driver) : m_driver(driver)
    {
        driver.allocate(&m_address, sizeof(int));
        const int zero = 0;
        driver.copy_to_device(m_address, &zero, sizeof zero, nullptr);
        driver.finish_stream(nullptr);
    }
    ~Wrong() { m_driver.free(m_address); }
    Wrong(const Wrong&) = delete;
    Wrong& operator=(const Wrong&) = delete;

    int* pointer() const { return reinterpret_cast<int*>(m_address); }
    int count(CUstream_st* stream = nullptr) const
    {
        int value = -1;
        m_driver.copy_to_host(&value, m_address, sizeof value, stream);
        m_driver.finish_stream(stream);
        return value;
    }

private:
    const gpu::CudaDriver& m_driver;
    std::uint64_t m_address = 0;
};

// Capability 58.
TEST_F(VramGpu, a_kernel_reads_a_lease_in_place)
{
    Cache cache = open({.max_bytes = 64_MiB});
    const cuda::Kernel kernel(cache, {.source = k_check}, "check");
    const Wrong wrong(*m_driver);
    for (const std::size_t size : {1U, 1000U, 10240U, 102400U, 5000003U})
        ASSERT_TRUE(cache.vram().insert(numbered_key(size), sample_bytes(numbered_key(size), size)).ok());
    const device::Transfers before = cache.vram().report()->transfers;
    for (const std::size_t size : {1U, 1000U, 10240U, 102400U, 5000003U}) {
        const Key key = numbered_key(size);
        const device::Lease lease = cache.vram().lease(key);
        ASSERT_TRUE(lease);
        ASSERT_TRUE(
            kernel
                .launch({.grid = 64, .block = 128}, lease.pointer(), lease.size(), start_of(key, size), wrong.pointer())
                .ok());
        EXPECT_EQ(wrong.count(), 0) << size;
    }
    EXPECT_EQ(cache.vram().report()->transfers.to_host, before.to_host) << "nothing was copied";
    // The check can fail.
    const device::Lease lease = cache.vram().lease(numbered_key(1000));
    ASSERT_TRUE(
        kernel.launch({.grid = 1, .block = 128}, lease.pointer(), lease.size(), std::uint64_t{1}, wrong.pointer())
            .ok());
    EXPECT_GT(wrong.count(), 900);
}

TEST_F(VramGpu, work_in_a_stream_comes_after_the_copy)
{
    Cache cache = open({.max_bytes = 256_MiB});
    const cuda::Kernel kernel(cache, {.source = k_check}, "check");
    ASSERT_TRUE(kernel.warm().ok());
    const Wrong wrong(*m_driver);
    CUstream_st* stream = nullptr;
    ASSERT_EQ(m_driver->create_stream(&stream, 1), 0);
    for (std::uint64_t i = 0; i < 200; ++i) {
        const Key key = numbered_key(i);
        const std::size_t size = 1000 + i * 4001;
        const Bytes bytes = sample_bytes(key, size);
        // Every other by the insert's stream, the rest by the lease's.
        ASSERT_TRUE(cache.vram().insert(key, bytes, {.stream = i % 2 == 0 ? stream : nullptr}).ok());
        const device::Lease lease = cache.vram().lease(key, {.stream = stream});
        ASSERT_TRUE(lease);
        ASSERT_TRUE(kernel
                        .launch({.grid = 32, .block = 128, .stream = stream}, lease.pointer(), lease.size(),
                                start_of(key, size), wrong.pointer())
                        .ok());
        m_driver->finish_stream(stream);
    }
    EXPECT_EQ(wrong.count(stream), 0);
    m_driver->destroy_stream(stream);
}

// Everything around a capture but the launches is none of the graph's business, and must not end it.
TEST_F(VramGpu, stores_leases_and_reads_beside_a_capture_do_not_break_it)
{
    const base::SharedLibrary library = base::SharedLibrary::load("libcuda.so.1").value();
    const auto begin = library.find<int(CUstream_st*, int)>("cuStreamBeginCapture_v2");
    const auto end = library.find<int(CUstream_st*, struct CUgraph_st**)>("cuStreamEndCapture");
    const auto instantiate = library.find<int(struct CUgraphExec_st**, struct CUgraph_st*, unsigned long long)>(
        "cuGraphInstantiateWithFlags");
    const auto launch = library.find<int(struct CUgraphExec_st*, CUstream_st*)>("cuGraphLaunch");
    Cache cache = open({.max_bytes = 256_MiB});
    const cuda::Kernel kernel(cache, {.source = k_check}, "check");
    ASSERT_TRUE(kernel.warm().ok());
    const Wrong wrong(*m_driver);
    CUstream_st* stream = nullptr;
    struct CUgraph_st* graph = nullptr;
    struct CUgraphExec_st* executable = nullptr;
    ASSERT_EQ(m_driver->create_stream(&stream, 1), 0);
    ASSERT_EQ(begin(stream, 0), 0);  // global: the strictest
    std::vector<device::Lease> leases;
    for (std::uint64_t i = 0; i < 20; ++i) {
        const Key key = numbered_key(i);
        const std::size_t size = 1000 + i * 70'001;
        ASSERT_TRUE(cache.vram().insert(key, sample_bytes(key, size), {.stream = i % 2 == 0 ? stream : nullptr}).ok());
        leases.push_back(cache.vram().lease(key, {.stream = stream}));
        ASSERT_TRUE(leases.back());
        ASSERT_TRUE(kernel
                        .launch({.grid = 32, .block = 128, .stream = stream}, leases.back().pointer(),
                                leases.back().size(), start_of(key, size), wrong.pointer())
                        .ok());
        EXPECT_EQ(as_text(cache.vram().read(key)->bytes()), sample_bytes(key, size).text());
    }
    EXPECT_EQ(cache.vram().read_many(std::vector<Key>{numbered_key(1), numbered_key(2)})->found(), 2U);
    ASSERT_EQ(end(stream, &graph), 0);
    ASSERT_EQ(instantiate(&executable, graph, 0), 0);
    ASSERT_EQ(launch(executable, stream), 0);
    EXPECT_EQ(wrong.count(stream), 0);
    m_driver->destroy_stream(stream);
}

// It unloads the kernel that gathers, and frees what is pinned and what is on the device.
TEST_F(VramGpu, closing_a_cache_beside_a_capture_does_not_break_it)
{
    const base::SharedLibrary library = base::SharedLibrary::load("libcuda.so.1").value();
    const auto begin = library.find<int(CUstream_st*, int)>("cuStreamBeginCapture_v2");
    const auto end = library.find<int(CUstream_st*, struct CUgraph_st**)>("cuStreamEndCapture");
    const std::vector<Key> keys{numbered_key(1), numbered_key(2)};
    std::optional<Cache> cache(open({.max_bytes = 1_MiB}));
    for (const Key& key : keys)
        ASSERT_TRUE(cache->vram().insert(key, sample_bytes(key, 100)).ok());
    ASSERT_EQ(cache->vram().read_many(keys)->found(), 2U);
    CUstream_st* stream = nullptr;
    struct CUgraph_st* graph = nullptr;
    ASSERT_EQ(m_driver->create_stream(&stream, 1), 0);
    ASSERT_EQ(begin(stream, 0), 0);  // global: the strictest
    cache.reset();
    EXPECT_EQ(end(stream, &graph), 0);
    m_driver->destroy_stream(stream);
}

// Capability 57.
TEST_F(VramGpu, device_memory_rises_and_returns)
{
    {
        Cache warm = open({.max_bytes = 1_MiB});
        ASSERT_TRUE(warm.vram().insert(numbered_key(1), sample_bytes(numbered_key(1), 10)).ok());
    }
    const std::uint64_t before = free_bytes();
    {
        Cache cache = open({.max_bytes = 512_MiB});
        for (std::uint64_t i = 0; i < 300; ++i)
            ASSERT_TRUE(cache.vram().insert(numbered_key(i), sample_bytes(numbered_key(i), 1_MiB)).ok());
        EXPECT_LE(free_bytes() + 300_MiB, before);
        cache.vram().lease(numbered_key(1));
    }
    EXPECT_EQ(free_bytes(), before);
}

TEST_F(VramGpu, sixteen_threads_hit_insert_and_evict_and_a_kernel_checks_every_lease)
{
    Cache cache = open({.max_bytes = 8_MiB});
    const cuda::Kernel kernel(cache, {.source = k_check}, "check");
    ASSERT_TRUE(kernel.warm().ok());
    std::atomic<int> failures{0};
    std::atomic<std::uint64_t> checked{0};
    in_threads(16, [&](std::uint64_t t) {
        m_driver->set_current(m_context);
        const Wrong wrong(*m_driver);
        CUstream_st* stream = nullptr;
        m_driver->create_stream(&stream, 1);
        std::uint64_t state = static_cast<std::uint64_t>(t) + 1;
        for (int i = 0; i < 300; ++i) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            const std::uint64_t number = (state >> 33U) % 200;
            const Key key = numbered_key(number);
            const std::size_t size = 1000 + number * 977;
            if (i % 4 == 0 && !cache.vram().insert(key, sample_bytes(key, size)).ok())
                ++failures;
            const device::Lease lease = cache.vram().lease(key, {.stream = stream});
            if (!lease)
                continue;
            if (!kernel
                     .launch({.grid = 8, .block = 128, .stream = stream}, lease.pointer(), lease.size(),
                             start_of(key, size), wrong.pointer())
                     .ok())
                ++failures;
            m_driver->finish_stream(stream);
            ++checked;
            if (i % 5 == 0)
                if (const auto copy = cache.vram().read(key);
                    copy && as_text(copy->bytes()) != sample_bytes(key, size).text())
                    ++failures;
        }
        failures += wrong.count(stream);
        m_driver->destroy_stream(stream);
    });
    EXPECT_EQ(failures, 0);
    EXPECT_GT(checked, 500U);
    EXPECT_GT(cache.stats().tiers[0].evictions, 100U);
    EXPECT_EQ(admin::verify(cache, Repair::no).corrupt, 0U);
}

// A place in host memory that a kernel waits at until it is opened, at the latest at the end.
class Gate {
public:
    explicit Gate(const gpu::CudaDriver& driver) : m_driver(driver)
    {
        void* memory = nullptr;
        EXPECT_EQ(driver.allocate_host(&memory, 64, gpu::cuda::k_host_portable | gpu::cuda::k_host_mapped), 0);
        m_flag = new (memory) std::atomic<int>(0);
    }
    ~Gate()
    {
        open();
        m_driver.finish_stream(nullptr);
        m_driver.free_host(m_flag);
    }
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    void open() { m_flag->store(1); }
    void* pointer() const { return m_flag; }

private:
    const gpu::CudaDriver& m_driver;
    std::atomic<int>* m_flag = nullptr;
};

TEST_F(VramGpu, a_lease_that_ends_with_a_stream_keeps_its_bytes_until_the_kernels_in_it_have_run)
{
    constexpr const char* k_wait = R"(
extern "C" __global__ void wait(volatile int* gate)
{
    while (*gate == 0) {
    }
})";
    constexpr std::size_t k_size = 900'000;
    Cache cache = open({.max_bytes = 1'000'000});
    const cuda::Kernel wait(cache, {.source = k_wait}, "wait");
    const cuda::Kernel check(cache, {.source = k_check}, "check");
    ASSERT_TRUE(wait.warm().ok());
    ASSERT_TRUE(check.warm().ok());
    const Wrong wrong(*m_driver);
    const Key key = numbered_key(1);
    const Bytes next = sample_bytes(numbered_key(2), k_size);
    ASSERT_TRUE(cache.vram().insert(key, sample_bytes(key, k_size)).ok());
    device::Lease lease = cache.vram().lease(key);
    ASSERT_TRUE(lease);
    Gate gate(*m_driver);
    // Nothing here returns early: kernels wait at the gate.
    EXPECT_TRUE(wait.launch({.grid = 1, .block = 1}, gate.pointer()).ok());
    EXPECT_TRUE(
        check.launch({.grid = 64, .block = 128}, lease.pointer(), lease.size(), start_of(key, k_size), wrong.pointer())
            .ok());
    EXPECT_TRUE(lease.release_after(nullptr).ok());
    EXPECT_FALSE(lease);
    EXPECT_TRUE(cache.remove(key));
    EXPECT_FALSE(cache.vram().insert(numbered_key(2), next).ok()) << "a kernel is still to read there";
    EXPECT_EQ(cache.vram().report()->partitions[0].held_bytes, k_size);
    gate.open();
    EXPECT_EQ(wrong.count(), 0) << "it read other bytes";
    EXPECT_EQ(cache.vram().report()->partitions[0].held_bytes, 0U);
    ASSERT_TRUE(cache.vram().insert(numbered_key(2), next).ok());
    EXPECT_EQ(as_text(cache.vram().read(numbered_key(2))->bytes()), next.text());
}

}  // namespace

}  // namespace hearth::test
