// Capability 62 where there is one GPU, or none: its primary context and one of our own stand for two devices, each
// with entries of its own. Every copy is watched: it is made in the context of its addresses, or by the driver's peer
// copy.

#include "../../modules/fake_cuda.hpp"
#include "base/error.hpp"
#include "base/shared_library.hpp"
#include "gpu/cuda/cuda_memory.hpp"
#include "support/eventually.hpp"
#include "support/in_threads.hpp"
#include "support/sample_entries.hpp"
#include "support/scale.hpp"
#include "support/storing.hpp"
#include "tiers/vram/vram_tier.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace hearth::test {

namespace {

using gpu::KeptCudaContext;
using tiers::VramTier;

// The fake driver, with memory that stays until its end: here a context may go while threads are inside their calls.
struct CudaInHostMemory {
    CudaInHostMemory()
    {
        s_here = this;
        driver.allocate = [](std::uint64_t* address, std::size_t bytes) {
            return *address = reinterpret_cast<std::uintptr_t>(s_here->take(bytes)), 0;
        };
        driver.free = [](std::uint64_t) { return 0; };
        driver.allocate_host = [](void** pinned, std::size_t bytes, unsigned) {
            return *pinned = s_here->take(bytes), 0;
        };
        driver.free_host = [](void*) { return 0; };
        driver.copy_between = [](std::uint64_t to, CUctx_st* target, std::uint64_t from, CUctx_st* source,
                                 std::size_t bytes, CUstream_st* stream) {
            const int error = s_here->peer_error;
            return error != 0 ? error : s_here->fake.driver().copy_between(to, target, from, source, bytes, stream);
        };
    }
    ~CudaInHostMemory() { s_here = nullptr; }
    CudaInHostMemory(const CudaInHostMemory&) = delete;
    CudaInHostMemory& operator=(const CudaInHostMemory&) = delete;

    void* take(std::size_t bytes)
    {
        const std::lock_guard lock(mutex);
        return memory.emplace_back(std::make_unique_for_overwrite<std::byte[]>(bytes)).get();
    }

    static inline CudaInHostMemory* s_here = nullptr;
    FakeCuda fake;
    gpu::CudaDriver driver = fake.driver();
    std::atomic<int> peer_error{0};  // that every peer copy fails with
    std::mutex mutex;                // guards the next
    std::vector<std::unique_ptr<std::byte[]>> memory;
};

// A CUDA driver around another one, which knows in which context each address was allocated: it counts the copies that
// were made in another context than that, and those that went from one context to another.
// Thread safety: all of it. One at a time: a driver is functions without state of ours.
class WatchedDriver {
public:
    explicit WatchedDriver(const gpu::CudaDriver& inner) : m_inner(inner), m_driver(inner)
    {
        s_watched = this;
        m_driver.allocate = [](std::uint64_t* address, std::size_t bytes) {
            const int error = s_watched->m_inner.allocate(address, bytes);
            if (error == gpu::cuda::k_success)
                s_watched->add(*address, bytes);
            return error;
        };
        m_driver.free = [](std::uint64_t address) {
            const bool alive = s_watched->check(address, 0);
            s_watched->remove(address);
            return alive ? s_watched->m_inner.free(address) : k_gone;
        };
        m_driver.copy_to_device = [](std::uint64_t to, const void* from, std::size_t bytes, CUstream_st* stream) {
            return s_watched->check(to, bytes) ? s_watched->m_inner.copy_to_device(to, from, bytes, stream) : k_gone;
        };
        m_driver.copy_to_host = [](void* to, std::uint64_t from, std::size_t bytes, CUstream_st* stream) {
            return s_watched->check(from, bytes) ? s_watched->m_inner.copy_to_host(to, from, bytes, stream) : k_gone;
        };
        m_driver.copy_between = [](std::uint64_t to, CUctx_st* to_context, std::uint64_t from, CUctx_st* from_context,
                                   std::size_t bytes, CUstream_st* stream) {
            ++s_watched->m_peer_copies;
            return s_watched->check(to, bytes, to_context) && s_watched->check(from, bytes, from_context)
                       ? s_watched->m_inner.copy_between(to, to_context, from, from_context, bytes, stream)
                       : k_gone;
        };
    }
    ~WatchedDriver() { s_watched = nullptr; }
    WatchedDriver(const WatchedDriver&) = delete;
    WatchedDriver& operator=(const WatchedDriver&) = delete;

    const gpu::CudaDriver& driver() const { return m_driver; }
    std::uint64_t peer_copies() const { return m_peer_copies; }
    // Addresses that were used in a context other than their own, or beyond their end.
    std::uint64_t misuses() const { return m_misuses; }
    // The context that an address was allocated in, 0 if it was not.
    std::uint64_t context_of(std::uint64_t address) const
    {
        const std::lock_guard lock(m_mutex);
        const auto next = m_allocated.upper_bound(address);
        if (next == m_allocated.begin())
            return 0;
        const auto& [start, allocation] = *std::prev(next);
        return address < start + allocation.bytes ? allocation.context : 0;
    }

private:
    struct Allocation {
        std::uint64_t bytes = 0;
        std::uint64_t context = 0;
    };

    std::uint64_t id_of(CUctx_st* context) const
    {
        unsigned long long id = 0;
        return m_inner.context_id(context, &id) == gpu::cuda::k_success ? id : 0;
    }
    void add(std::uint64_t address, std::uint64_t bytes)
    {
        const std::uint64_t id = id_of(nullptr);
        const std::lock_guard lock(m_mutex);
        // What went with its context was not freed, and its addresses may come again.
        std::erase_if(m_allocated, [&](const auto& old) {
            return old.first < address + bytes && address < old.first + old.second.bytes;
        });
        m_allocated[address] = {bytes, id};
    }
    void remove(std::uint64_t address)
    {
        const std::lock_guard lock(m_mutex);
        m_allocated.erase(address);
    }
    // False: there is no such context any more. A driver says so too.
    bool check(std::uint64_t address, std::uint64_t bytes, CUctx_st* context = nullptr)
    {
        const std::uint64_t here = id_of(context);
        const std::uint64_t last = bytes == 0 ? address : address + bytes - 1;
        if (here != 0 && (context_of(address) != here || context_of(last) != here))
            ++m_misuses;
        return here != 0;
    }

    static constexpr int k_gone = gpu::cuda::k_context_is_destroyed;
    static inline WatchedDriver* s_watched = nullptr;
    const gpu::CudaDriver m_inner;
    gpu::CudaDriver m_driver;
    mutable std::mutex m_mutex;
    std::map<std::uint64_t, Allocation> m_allocated;
    std::atomic<std::uint64_t> m_peer_copies{0};
    std::atomic<std::uint64_t> m_misuses{0};
};

enum class DriverKind : std::uint8_t { stand_in, cuda };

class SeveralGpus : public testing::TestWithParam<DriverKind> {
protected:
    void SetUp() override
    {
        if (GetParam() == DriverKind::stand_in) {
            m_stand_in = std::make_unique<CudaInHostMemory>();
            m_watched = std::make_unique<WatchedDriver>(m_stand_in->driver);
        } else {
            const Result<const gpu::CudaDriver*> driver = gpu::cuda_driver();
            if (!driver)
                GTEST_SKIP() << driver.error().message;
            m_watched = std::make_unique<WatchedDriver>(**driver);
        }
    }
    void TearDown() override
    {
        if (m_watched) {
            EXPECT_EQ(m_watched->misuses(), 0U) << "memory was used in a context that is not its own";
        }
    }

    // Device 0 is the primary context, device 1 one of our own.
    std::unique_ptr<VramTier> open(std::uint64_t max_bytes = 4_MiB)
    {
        TierContext context{&m_clock, {}, lru()};
        VramOptions options{.devices = {0, 1}, .max_bytes = max_bytes, .fallback = device::Fallback::none};
        return std::make_unique<VramTier>(
            options, context, [this](device::Backend, int index) -> Result<std::shared_ptr<gpu::DeviceMemory>> {
                const auto kind = index == 0 ? KeptCudaContext::Kind::primary : KeptCudaContext::Kind::own;
                const Result<std::shared_ptr<const KeptCudaContext>> kept =
                    KeptCudaContext::take(m_watched->driver(), 0, kind);
                HEARTH_TRY(kept);
                const device::Device device{
                    .backend = device::Backend::cuda, .index = index, .name = "device", .gpu = true};
                auto memory = std::make_shared<gpu::CudaMemory>(device, *kept);
                const gpu::ScopedContext current(m_watched->driver(), (*kept)->context());
                HEARTH_TRY(memory->prepare());
                const std::lock_guard lock(m_mutex);
                m_contexts[index] = (*kept)->context();
                m_memories[index] = memory;
                return {std::shared_ptr<gpu::DeviceMemory>(memory)};
            });
    }
    static bool put(VramTier& tier, std::uint64_t number, std::size_t size, int device)
    {
        return store_at(tier, numbered_key(number), sample_entry(numbered_key(number), size), {.device = device});
    }
    // What lies on that device under that key, read in its context; empty: nothing does.
    std::string on(VramTier& tier, std::uint64_t number, int device)
    {
        const device::Lease lease = tier.lease(numbered_key(number), {.device = device});
        if (!lease)
            return {};
        EXPECT_EQ(lease.device(), device);
        EXPECT_EQ(m_watched->context_of(lease.region().address), m_contexts[device].id) << "its memory is another's";
        std::string bytes(lease.size(), '?');
        const gpu::DevicePart part{{lease.region().address, nullptr, lease.size()}, 0, lease.size()};
        const std::shared_ptr<gpu::DeviceMemory> memory = m_memories[device].lock();
        EXPECT_TRUE(memory && memory->read(part, std::as_writable_bytes(std::span(bytes))).ok());
        return bytes;
    }
    static std::string sample(std::uint64_t number, std::size_t size)
    {
        return std::string(sample_bytes(numbered_key(number), size).text());
    }
    void lose(int device)
    {
        if (device == 1) {
            ASSERT_EQ(m_watched->driver().destroy_context(m_contexts[1].handle), 0);
        } else if (m_stand_in) {
            m_stand_in->fake.destroy_context(m_contexts[0]);
        } else {
            const base::SharedLibrary library = base::SharedLibrary::load("libcuda.so.1").value();
            ASSERT_EQ(library.find<int(int)>("cuDevicePrimaryCtxReset_v2")(0), 0);
        }
    }

    std::unique_ptr<CudaInHostMemory> m_stand_in;
    std::unique_ptr<WatchedDriver> m_watched;
    ManualClock m_clock;
    std::mutex m_mutex;  // guards the rest while a tier opens devices
    gpu::CudaContext m_contexts[2];
    std::weak_ptr<gpu::DeviceMemory> m_memories[2];
};

TEST_P(SeveralGpus, two_contexts_have_entries_of_their_own_and_a_peer_copy_goes_between_them)
{
    const auto tier = open();
    ASSERT_TRUE(put(*tier, 1, 500'001, 0));
    ASSERT_TRUE(put(*tier, 2, 3000, 1));
    ASSERT_NE(m_contexts[0].id, m_contexts[1].id);
    EXPECT_EQ(on(*tier, 1, 0), sample(1, 500'001));
    EXPECT_EQ(on(*tier, 1, 1), "") << "never another device's";
    EXPECT_EQ(on(*tier, 2, 0), "");
    EXPECT_EQ(on(*tier, 2, 1), sample(2, 3000));
    EXPECT_EQ(m_watched->peer_copies(), 0U);

    ASSERT_TRUE(copy_to_device(*tier, numbered_key(1), 1));
    ASSERT_TRUE(copy_to_device(*tier, numbered_key(2), 0));
    EXPECT_EQ(m_watched->peer_copies(), 2U) << "by cuMemcpyPeerAsync, not through the host";
    EXPECT_EQ(tier->report().transfers.between_devices, 2U);
    for (const int device : {0, 1}) {
        EXPECT_EQ(on(*tier, 1, device), sample(1, 500'001)) << device;
        EXPECT_EQ(on(*tier, 2, device), sample(2, 3000)) << device;
    }
    // A new value on one device ends the copy on the other.
    ASSERT_TRUE(put(*tier, 1, 700, 1));
    EXPECT_EQ(on(*tier, 1, 0), "");
    EXPECT_EQ(on(*tier, 1, 1), sample(1, 700));
}

TEST_P(SeveralGpus, two_contexts_where_one_is_lost_leave_the_other_its_entries)
{
    for (const int lost : {1, 0}) {
        const auto tier = open();
        ASSERT_TRUE(put(*tier, 1, 5000, 0));
        ASSERT_TRUE(put(*tier, 2, 6000, 1));
        ASSERT_TRUE(copy_to_device(*tier, numbered_key(1), 1));
        const int other = 1 - lost;
        const device::Lease gone = tier->lease(numbered_key(1), {.device = lost});
        const device::Lease kept = tier->lease(numbered_key(1), {.device = other});
        ASSERT_TRUE(gone && kept);
        lose(lost);
        EXPECT_TRUE(gone.lost());
        EXPECT_FALSE(kept.lost());
        EXPECT_EQ(on(*tier, 1, lost), "");
        EXPECT_EQ(on(*tier, 1, other), sample(1, 5000)) << "device " << other << " was not touched";
        EXPECT_EQ(on(*tier, 2, 1), lost == 1 ? "" : sample(2, 6000));
        // The tier opened a new context in its place, and copies reach it.
        ASSERT_TRUE(copy_to_device(*tier, numbered_key(1), lost));
        EXPECT_EQ(on(*tier, 1, lost), sample(1, 5000));
        ASSERT_TRUE(put(*tier, 3, 7000, lost));
        EXPECT_EQ(on(*tier, 3, lost), sample(3, 7000));
    }
}

TEST_P(SeveralGpus, two_contexts_that_threads_store_copy_and_read_in_are_never_mixed_up)
{
    const auto tier = open(500'000);
    ASSERT_TRUE(tier->open().ok());
    std::atomic<int> wrong{0};
    std::atomic<std::uint64_t> reads{0};
    in_threads(4, [&](std::uint64_t t) {
        std::uint64_t state = t + 1;
        for (std::uint64_t i = 0; i < scaled(300); ++i) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            const std::uint64_t number = (state >> 33U) % 60;
            const int device = static_cast<int>((state >> 20U) % 2);
            if (i % 3 == 0)
                wrong += put(*tier, number, 1000 + number * 300, device) ? 0 : 1;
            else if (i % 3 == 1)
                static_cast<void>(copy_to_device(*tier, numbered_key(number), device));
            if (const Found found = tier->find(numbered_key(number))) {
                wrong += found.artifact->text() == sample(number, 1000 + number * 300) ? 0 : 1;
                ++reads;
            }
        }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(reads, 0U);
    EXPECT_GT(m_watched->peer_copies(), 0U);
    EXPECT_EQ(tier->verify(Repair::no, {}).corrupt, 0U);
}

TEST_P(SeveralGpus, a_copy_that_breaks_the_other_context_leaves_the_one_that_it_came_from)
{
    if (!m_stand_in)
        GTEST_SKIP() << "Only the stand-in fails when it is asked to.";
    const auto tier = open();
    ASSERT_TRUE(put(*tier, 1, 5000, 0));
    ASSERT_TRUE(put(*tier, 2, 5000, 1));
    for (const int harmless : {1, 2}) {
        m_stand_in->peer_error = harmless;
        EXPECT_FALSE(copy_to_device(*tier, numbered_key(1), 1));
        EXPECT_EQ(on(*tier, 1, 0), sample(1, 5000));
        EXPECT_EQ(on(*tier, 2, 1), sample(2, 5000));
    }
    m_stand_in->peer_error = 700;  // an illegal address: the context that it happened in is dead
    EXPECT_FALSE(copy_to_device(*tier, numbered_key(1), 1));
    m_stand_in->peer_error = 0;
    EXPECT_EQ(on(*tier, 1, 0), sample(1, 5000));
    EXPECT_EQ(on(*tier, 2, 1), "") << "it went with its context";
    ASSERT_TRUE(copy_to_device(*tier, numbered_key(1), 1));
    EXPECT_EQ(on(*tier, 1, 1), sample(1, 5000));
}

// On the stand-in, which allows what a driver does not: the context goes while threads are inside their calls.
TEST_P(SeveralGpus, two_contexts_where_one_is_lost_again_and_again_under_load_give_misses_and_never_a_wrong_byte)
{
    if (!m_stand_in)
        GTEST_SKIP() << "A driver's context may be destroyed between two calls only: VramProcess does that.";
    const auto tier = open();
    for (std::uint64_t i = 0; i < 10; ++i)
        ASSERT_TRUE(put(*tier, i, 2000, 0));
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::atomic<int> missing{0};
    std::atomic<std::uint64_t> done{0};
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            device::Lease held;
            for (std::uint64_t i = t; !stop; ++i, ++done) {
                const std::uint64_t number = 10 + i * 7 % 30;
                if (i % 3 == 0)
                    static_cast<void>(put(*tier, number, 1000 + number * 300, 1));
                if (i % 5 == 0)
                    static_cast<void>(copy_to_device(*tier, numbered_key(i % 10), 1));
                if (const Found found = tier->find(numbered_key(number)))
                    wrong += found.artifact->text() == sample(number, 1000 + number * 300) ? 0 : 1;
                held = tier->lease(numbered_key(number), {.device = 1});
                // What lies on the other device is none the worse for it.
                const Found other = tier->find(numbered_key(i % 10));
                missing += other ? 0 : 1;
                wrong += !other || other.artifact->text() == sample(i % 10, 2000) ? 0 : 1;
            }
        });
    for (std::uint64_t i = 0; i < scaled(100) && !HasFailure(); ++i) {
        const std::uint64_t before = done;
        EXPECT_TRUE(eventually("the threads have gone on", [&] { return done >= before + 20; }));
        for (int place = 2; place <= m_stand_in->fake.last_place(); ++place)
            m_stand_in->fake.destroy_context({reinterpret_cast<CUctx_st*>(static_cast<std::uintptr_t>(place)), 0});
    }
    stop = true;
    threads.clear();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(missing, 0);
    EXPECT_GT(m_stand_in->fake.last_place(), 3) << "it was opened again and again";
    ASSERT_TRUE(put(*tier, 50, 5000, 1));
    EXPECT_EQ(tier->find(numbered_key(50)).artifact->text(), sample(50, 5000));
    EXPECT_TRUE(tier->verify(Repair::no, {}).accounting_exact);
}

INSTANTIATE_TEST_SUITE_P(Drivers, SeveralGpus, testing::Values(DriverKind::stand_in, DriverKind::cuda),
                         [](const auto& one) { return one.param == DriverKind::stand_in ? "stand_in" : "cuda"; });

TEST(SeveralGpusWatch, sees_memory_that_is_used_in_another_context)
{
    CudaInHostMemory cuda;
    WatchedDriver watched(cuda.driver);
    const gpu::CudaContext one = cuda.fake.make_context(1);
    const gpu::CudaContext other = cuda.fake.make_context(2);
    FakeCuda::make_current(one);
    std::uint64_t address = 0;
    std::byte out{};
    ASSERT_EQ(watched.driver().allocate(&address, 100), 0);
    watched.driver().copy_to_host(&out, address + 99, 1, nullptr);
    EXPECT_EQ(watched.misuses(), 0U);
    watched.driver().free(address + 100);
    EXPECT_EQ(watched.misuses(), 1U) << "beyond its end";
    FakeCuda::make_current(other);
    watched.driver().copy_to_host(&out, address, 1, nullptr);
    EXPECT_EQ(watched.misuses(), 2U);
}

}  // namespace

}  // namespace hearth::test
