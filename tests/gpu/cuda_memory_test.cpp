// Device memory over a CUDA driver that lives in memory and fails when asked to.

#include "gpu/cuda/cuda_memory.hpp"

#include "../modules/fake_cuda.hpp"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using gpu::StreamPoint;

// What the driver's functions, which have no state of their own, are told.
struct FakeDevice {
    CUctx_st* context = nullptr;
    int copy_error = gpu::cuda::k_success;
    int capture = gpu::cuda::k_capture_none;
    bool busy = false;  // the caller's streams are not done
    std::uintptr_t events = 0;
    std::uintptr_t destroyed_events = 0;
    std::uint64_t pinned = 0;
};
FakeDevice g_device;

class CudaMemoryTest : public testing::Test {
protected:
    CudaMemoryTest()
    {
        g_device = {};
        m_context = m_cuda.make_context(1);
        g_device.context = m_context.handle;
        m_driver.primary_retain = [](CUctx_st** context, int) { return *context = g_device.context, 0; };
        m_driver.primary_release = [](int) { return 0; };
        m_driver.create_stream = [](CUstream_st** stream, unsigned) {
            *stream = reinterpret_cast<CUstream_st*>(std::uintptr_t{64});
            return 0;
        };
        m_driver.destroy_stream = [](CUstream_st*) { return 0; };
        m_driver.finish_stream = [](CUstream_st*) { return g_device.copy_error; };
        m_driver.wait_in_stream = [](CUstream_st*, CUevent_st*, unsigned) { return 0; };
        m_driver.create_event = [](CUevent_st** event, unsigned) {
            *event = reinterpret_cast<CUevent_st*>(++g_device.events);
            return 0;
        };
        m_driver.destroy_event = [](CUevent_st*) { return ++g_device.destroyed_events, 0; };
        m_driver.record_event = [](CUevent_st*, CUstream_st*) { return 0; };
        m_driver.query_event = [](CUevent_st*) { return g_device.busy ? gpu::cuda::k_not_ready : 0; };
        m_driver.capture_status = [](CUstream_st*, int* status) { return *status = g_device.capture, 0; };
        m_driver.allocate = [](std::uint64_t* address, std::size_t bytes) {
            *address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes));
            return 0;
        };
        m_driver.free = [](std::uint64_t address) {
            return std::free(reinterpret_cast<void*>(address)), 0;  // NOLINT(performance-no-int-to-ptr)
        };
        m_driver.allocate_host = [](void** memory, std::size_t bytes, unsigned) {
            g_device.pinned += bytes;
            *memory = std::malloc(64);  // nobody here writes into it
            return 0;
        };
        m_driver.free_host = [](void* memory) { return std::free(memory), 0; };
        m_driver.copy_to_host = [](void*, std::uint64_t, std::size_t, CUstream_st*) { return g_device.copy_error; };
    }

    std::shared_ptr<gpu::CudaMemory> open()
    {
        const std::shared_ptr<const gpu::KeptCudaContext> kept =
            gpu::KeptCudaContext::take(m_driver, 0, gpu::KeptCudaContext::Kind::primary).value();
        auto memory = std::make_shared<gpu::CudaMemory>(device::Device{.name = "fake"}, kept);
        const gpu::ScopedContext current(m_driver, kept->context());
        EXPECT_TRUE(memory->prepare().ok());
        return memory;
    }

    FakeCuda m_cuda;
    gpu::CudaDriver m_driver = m_cuda.driver();
    gpu::CudaContext m_context;
};

TEST_F(CudaMemoryTest, an_error_that_ends_a_context_makes_its_memory_lost)
{
    // Launch failures, MPS that went away, a contained error, a driver that ends, one that Hearth has never heard of.
    for (const int error : {700, 710, 719, 201, 709, 46, 806, 810, 226, 999, 3, 4, 4711}) {
        const std::shared_ptr<gpu::CudaMemory> memory = open();
        const gpu::DeviceBlock block = memory->allocate(100).value();
        std::array<std::byte, 10> out{};
        g_device.copy_error = error;
        EXPECT_FALSE(memory->read({block, 0, 10}, out).ok()) << error;
        EXPECT_TRUE(memory->lost()) << error;
        g_device.copy_error = gpu::cuda::k_success;
        memory->free(block);
    }
}

TEST_F(CudaMemoryTest, an_error_of_one_call_leaves_the_rest_as_it_is)
{
    for (const int error : {1, 2, 400, 600, 801, 900, 906}) {
        const std::shared_ptr<gpu::CudaMemory> memory = open();
        const gpu::DeviceBlock block = memory->allocate(100).value();
        std::array<std::byte, 10> out{};
        g_device.copy_error = error;
        EXPECT_FALSE(memory->read({block, 0, 10}, out).ok()) << error;
        EXPECT_FALSE(memory->lost()) << error;
        g_device.copy_error = gpu::cuda::k_success;
        memory->free(block);
    }
}

TEST_F(CudaMemoryTest, a_point_in_a_stream_is_passed_once_the_work_before_it_is_done)
{
    const std::shared_ptr<gpu::CudaMemory> memory = open();
    g_device.busy = true;
    Result<std::unique_ptr<StreamPoint>> point = memory->mark(nullptr);
    ASSERT_TRUE(point.ok() && *point != nullptr);
    EXPECT_FALSE((*point)->passed());
    g_device.busy = false;
    EXPECT_TRUE((*point)->passed());
    const std::uintptr_t before = g_device.destroyed_events;
    point->reset();
    EXPECT_EQ(g_device.destroyed_events, before + 1) << "its event is given back";

    g_device.capture = 1;
    const Result<std::unique_ptr<StreamPoint>> captured = memory->mark(nullptr);
    ASSERT_FALSE(captured.ok());
    EXPECT_NE(captured.error().message.find("captured"), std::string::npos) << captured.error().message;
}

TEST_F(CudaMemoryTest, nothing_runs_any_more_in_a_context_that_is_gone)
{
    const std::shared_ptr<gpu::CudaMemory> memory = open();
    g_device.busy = true;
    Result<std::unique_ptr<StreamPoint>> point = memory->mark(nullptr);
    ASSERT_TRUE(point.ok() && *point != nullptr);
    m_cuda.destroy_context(m_context);
    EXPECT_TRUE((*point)->passed());
    const Result<std::unique_ptr<StreamPoint>> late = memory->mark(nullptr);
    EXPECT_TRUE(late.ok() && *late == nullptr);
}

TEST_F(CudaMemoryTest, parts_begin_where_the_drivers_own_memory_would)
{
    EXPECT_EQ(open()->alignment() % 256, 0U);
}

TEST_F(CudaMemoryTest, no_more_is_pinned_than_a_machine_can_spare)
{
    const std::shared_ptr<gpu::CudaMemory> memory = open();
    std::vector<std::unique_ptr<gpu::StagingBuffer>> lent;
    for (int i = 0; i < 40; ++i)
        if (std::unique_ptr<gpu::StagingBuffer> buffer = memory->staging(64_MiB))
            lent.push_back(std::move(buffer));
    EXPECT_EQ(memory->staging(64_MiB), nullptr) << "whoever asks now reads into plain memory";
    EXPECT_LE(g_device.pinned, 512_MiB);
    EXPECT_GE(lent.size(), 7U);
    lent.clear();
    EXPECT_NE(memory->staging(64_MiB), nullptr);
}

}  // namespace

}  // namespace hearth::test
