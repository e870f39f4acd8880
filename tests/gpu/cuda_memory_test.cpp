// Device memory over a CUDA driver that lives in memory and fails when asked to.

#include "gpu/cuda/cuda_memory.hpp"

#include "../modules/fake_cuda.hpp"
#include "support/sample_entries.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

namespace hearth::test {

namespace {

using gpu::StreamPoint;

// What the driver's functions, which have no state of their own, are told.
struct FakeDevice {
    gpu::CudaDriver driver{};  // one that never fails
    int copy_error = gpu::cuda::k_success;
    int capture = gpu::cuda::k_capture_none;
    bool busy = false;  // the caller's streams are not done
    std::uint64_t pinned = 0;
    bool nothing_to_pin = false;
    std::map<std::string, int> calls{};  // of the driver, by name
};
FakeDevice g_device;

// The gather kernel, run here: it is the only one that is ever launched.
int gather(void** arguments)
{
    const auto* const steps = *static_cast<const gpu::GatherStep* const*>(arguments[0]);
    const unsigned count = *static_cast<const unsigned*>(arguments[1]);
    for (unsigned i = 0; i < count; ++i)
        std::memcpy(reinterpret_cast<void*>(steps[i].to), reinterpret_cast<const void*>(steps[i].from), steps[i].bytes);
    return 0;
}

class CudaMemoryTest : public testing::Test {
protected:
    CudaMemoryTest()
    {
        g_device = {.driver = m_cuda.driver()};
        m_driver.finish_stream = [](CUstream_st*) { return ++g_device.calls["finish"], g_device.copy_error; };
        m_driver.context_id = [](CUctx_st* context, unsigned long long* id) {
            return ++g_device.calls["context id"], g_device.driver.context_id(context, id);
        };
        m_driver.exchange_capture_mode = [](int*) { return ++g_device.calls["capture mode"], 0; };
        m_driver.pointer_attribute = [](void*, int, std::uint64_t) { return ++g_device.calls["pointer"], 1; };
        m_driver.launch = [](CUfunc_st*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                             CUstream_st*, void** arguments,
                             void**) { return ++g_device.calls["launch"], gather(arguments); };
        m_driver.copy_to_device = [](std::uint64_t to, const void* from, std::size_t bytes, CUstream_st* stream) {
            g_device.driver.copy_to_device(to, from, bytes, stream);
            return ++g_device.calls["copy"], g_device.copy_error;
        };
        m_driver.copy_to_host = [](void* to, std::uint64_t from, std::size_t bytes, CUstream_st* stream) {
            g_device.driver.copy_to_host(to, from, bytes, stream);
            return ++g_device.calls["copy"], g_device.copy_error;
        };
        m_driver.query_event = [](CUevent_st*) { return g_device.busy ? gpu::cuda::k_not_ready : 0; };
        m_driver.capture_status = [](CUstream_st*, int* status) { return *status = g_device.capture, 0; };
        m_driver.allocate_host = [](void** memory, std::size_t bytes, unsigned flags) {
            if (g_device.nothing_to_pin)
                return gpu::cuda::k_out_of_memory;
            g_device.pinned += bytes;
            return g_device.driver.allocate_host(memory, bytes, flags);
        };
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
    gpu::CudaContext m_context = m_cuda.make_context(1);
};

TEST_F(CudaMemoryTest, an_error_that_ends_a_context_makes_its_memory_lost_and_one_of_a_call_does_not)
{
    const auto loses = [this](int error) {
        const std::shared_ptr<gpu::CudaMemory> memory = open();
        const gpu::DeviceBlock block = memory->allocate(100).value();
        std::array<std::byte, 10> out{};
        g_device.copy_error = error;
        EXPECT_FALSE(memory->read({block, 0, 10}, out).ok()) << error;
        const bool lost = memory->lost();
        g_device.copy_error = gpu::cuda::k_success;
        memory->free(block);
        return lost;
    };
    // Launch failures, MPS that went away, a contained error, a driver that ends, one that Hearth has never heard of.
    for (const int error : {700, 710, 719, 201, 709, 46, 806, 810, 226, 999, 3, 4, 4711})
        EXPECT_TRUE(loses(error)) << error;
    for (const int error : {1, 2, 400, 600, 801, 900, 906})
        EXPECT_FALSE(loses(error)) << error;
}

TEST_F(CudaMemoryTest, a_point_in_a_stream_is_passed_once_the_work_before_it_is_done_or_its_context_is_gone)
{
    const std::shared_ptr<gpu::CudaMemory> memory = open();
    g_device.busy = true;
    Result<std::unique_ptr<StreamPoint>> point = memory->mark(nullptr);
    ASSERT_TRUE(point.ok() && *point != nullptr);
    EXPECT_FALSE((*point)->passed());
    g_device.busy = false;
    EXPECT_TRUE((*point)->passed());
    const int before = m_cuda.events();
    point->reset();
    EXPECT_EQ(m_cuda.events(), before - 1) << "its event is given back";

    g_device.capture = 1;
    const Result<std::unique_ptr<StreamPoint>> captured = memory->mark(nullptr);
    ASSERT_FALSE(captured.ok());
    EXPECT_NE(captured.error().message.find("captured"), std::string::npos) << captured.error().message;
    g_device.capture = gpu::cuda::k_capture_none;

    // In a context that is gone nothing runs any more.
    g_device.busy = true;
    point = memory->mark(nullptr);
    ASSERT_TRUE(point.ok() && *point != nullptr);
    m_cuda.destroy_context(m_context);
    EXPECT_TRUE((*point)->passed());
    const Result<std::unique_ptr<StreamPoint>> late = memory->mark(nullptr);
    EXPECT_TRUE(late.ok() && *late == nullptr);
}

TEST_F(CudaMemoryTest, a_stream_that_fails_is_the_callers_fault_unless_ours_fails_too)
{
    const std::shared_ptr<gpu::CudaMemory> memory = open();
    m_driver.capture_status = [](CUstream_st*, int*) { return 700; };  // an illegal address
    const Result<std::unique_ptr<StreamPoint>> theirs = memory->mark(nullptr);
    ASSERT_FALSE(theirs.ok());
    EXPECT_EQ(theirs.error().code, Code::invalid_argument);
    EXPECT_FALSE(memory->lost());
    g_device.copy_error = 700;
    const Result<std::unique_ptr<StreamPoint>> ours = memory->mark(nullptr);
    ASSERT_FALSE(ours.ok());
    EXPECT_EQ(ours.error().code, Code::unavailable);
    EXPECT_TRUE(memory->lost());
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

TEST_F(CudaMemoryTest, what_is_written_has_the_sum_of_its_bytes_whichever_way_it_goes)
{
    // Through pinned memory, over the end of it, too large for it, and where no memory can be pinned.
    for (const bool nothing_to_pin : {false, true}) {
        const std::shared_ptr<gpu::CudaMemory> memory = open();
        g_device.nothing_to_pin = nothing_to_pin;
        const gpu::DeviceBlock block = memory->allocate(2_MiB).value();
        for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{1_MiB},
                                       std::size_t{1_MiB + 1}, std::size_t{1_MiB}, std::size_t{1_MiB}}) {
            const Bytes bytes = sample_bytes(numbered_key(size), size);
            for (int i = 0; i < 5; ++i) {
                base::MemorySum sum;
                ASSERT_TRUE(memory->write_summed({block, 256, size}, bytes, sum).ok());
                EXPECT_EQ(sum, base::sum_of(bytes)) << size;
            }
            std::vector<std::byte> out(size);
            ASSERT_TRUE(memory->read({block, 256, size}, out).ok());
            EXPECT_TRUE(std::equal(out.begin(), out.end(), bytes.view().begin())) << size;
        }
        memory->free(block);
    }
}

// What a driver takes for each of these is most of what an insert or a read takes beyond the copy.
TEST_F(CudaMemoryTest, an_insert_and_a_read_call_the_driver_no_more_than_they_must)
{
    const std::shared_ptr<gpu::CudaMemory> memory = open();
    FakeCuda::make_current(m_context);
    const gpu::DeviceBlock block = memory->allocate(4096).value();
    const Bytes bytes = sample_bytes(numbered_key(1), 1000);
    base::MemorySum sum;
    ASSERT_TRUE(memory->write_summed({block, 0, 1000}, bytes, sum).ok());
    g_device.calls.clear();
    ASSERT_TRUE(memory->write_summed({block, 1024, 1000}, bytes, sum).ok());
    using Calls = std::map<std::string, int>;
    EXPECT_EQ(g_device.calls, (Calls{{"context id", 1}, {"capture mode", 2}, {"copy", 1}}));

    // The first read waits for the writes, and pins memory.
    ASSERT_TRUE(memory->read({block, 0, 1000}, memory->staging(1000)->bytes()).ok());
    g_device.calls.clear();
    {
        const std::unique_ptr<gpu::StagingBuffer> staging = memory->staging(1000);
        ASSERT_TRUE(memory->read({block, 1024, 1000}, staging->bytes()).ok());
        EXPECT_TRUE(std::equal(bytes.view().begin(), bytes.view().end(), staging->bytes().begin()));
    }
    EXPECT_EQ(g_device.calls, (Calls{{"context id", 2}, {"capture mode", 2}, {"copy", 1}, {"finish", 1}}));
    memory->free(block);
}

TEST_F(CudaMemoryTest, a_gathering_launches_once_for_each_start_and_waits_once_for_each_stream)
{
    constexpr std::size_t k_parts = 900;  // a table has room for two starts
    constexpr std::size_t k_starts = 3;
    const std::shared_ptr<gpu::CudaMemory> memory = open();
    FakeCuda::make_current(m_context);
    // One in a hundred takes several steps, and another is for a copy engine.
    const auto size_of = [](std::size_t i) -> std::uint64_t {
        return i % 100 == 0 ? 40000 : i % 301 == 7 ? 200000 : i;
    };
    std::uint64_t end = 0;
    std::vector<gpu::RegionRead> reads;
    for (std::size_t i = 0; i < k_parts; ++i) {
        reads.push_back({{0, nullptr, 0, size_of(i)}, end});
        end += (size_of(i) + 15) / 16 * 16;
    }
    const gpu::DeviceBlock block = memory->allocate(end).value();
    const Bytes bytes = sample_bytes(numbered_key(1), end);
    ASSERT_TRUE(memory->write({block, 0, end}, bytes).ok());
    for (gpu::RegionRead& read : reads)
        read.from.address = block.address + read.target;

    std::vector<std::unique_ptr<gpu::StagingBuffer>> targets;
    const std::unique_ptr<gpu::Gathering> gathering = memory->begin_gathering();
    for (std::size_t i = 0; i < k_starts; ++i) {
        targets.push_back(memory->staging(end));
        ASSERT_NE(targets.back(), nullptr);
        std::fill(targets.back()->bytes().begin(), targets.back()->bytes().end(), std::byte{0});
    }
    g_device.calls.clear();
    for (const std::unique_ptr<gpu::StagingBuffer>& target : targets)
        ASSERT_TRUE(gathering->start(reads, *target).ok());
    ASSERT_TRUE(gathering->finish().ok());
    EXPECT_EQ(g_device.calls["launch"], 3);
    EXPECT_EQ(g_device.calls["finish"], 3) << "for earlier writes, then one for each of two streams";
    EXPECT_EQ(g_device.calls["pointer"], 0) << "our own staging is known to be pinned";
    EXPECT_EQ(g_device.calls["copy"], 3 * 3) << "what is too large for the kernel";
    for (const std::unique_ptr<gpu::StagingBuffer>& target : targets)
        for (const gpu::RegionRead& read : reads)
            ASSERT_EQ(as_text(target->bytes().subspan(read.target, read.from.bytes)),
                      bytes.text().substr(read.target, read.from.bytes));
    memory->free(block);
}

TEST_F(CudaMemoryTest, memory_that_was_pinned_in_a_lost_context_is_not_lent_again)
{
    const std::shared_ptr<gpu::CudaMemory> memory = open();
    std::unique_ptr<gpu::StagingBuffer> lent = memory->staging(1000);
    ASSERT_NE(lent, nullptr);
    m_cuda.destroy_context(m_context);
    g_device.calls.clear();
    void* const whole = lent->bytes().data();
    lent.reset();
    EXPECT_EQ(g_device.calls["context id"], 0) << "to give memory back asks nobody";
    EXPECT_EQ(memory->staging(1000), nullptr);
    std::free(whole);  // as the driver did with its context
}

}  // namespace

}  // namespace hearth::test
