// The machine's own OpenCL, with one function that fails when asked to.

#include "base/shared_library.hpp"
#include "gpu/opencl/opencl_devices.hpp"
#include "support/sample_entries.hpp"

#include <gtest/gtest.h>

namespace hearth::test {

namespace {

cl_int g_read_error = CL_SUCCESS;

class OpenClFaults : public testing::Test {
protected:
    void SetUp() override
    {
        const Result<std::shared_ptr<const gpu::cl::Api>> api = gpu::cl::load();
        if (!api)
            GTEST_SKIP() << api.error().message;
        m_api = std::make_shared<gpu::cl::Api>(**api);
    }
    std::shared_ptr<gpu::DeviceMemory> open() { return gpu::cl::open_memory(m_api, 0).value(); }
    // The outcome of a read that the driver answers with that error.
    Status read_with(gpu::DeviceMemory& memory, cl_int error)
    {
        const gpu::DeviceBlock block = memory.allocate(100).value();
        g_read_error = error;
        std::array<std::byte, 10> out{};
        Status status = memory.read({block, 0, out.size()}, out);
        memory.free(block);
        return status;
    }

    std::shared_ptr<gpu::cl::Api> m_api;
};

TEST_F(OpenClFaults, an_error_that_ends_a_context_makes_its_memory_lost)
{
    m_api->enqueue_read = [](cl_command_queue, cl_mem, cl_bool, std::size_t, std::size_t, void*, cl_uint,
                             const cl_event*, cl_event*) { return g_read_error; };
    for (const cl_int error : {CL_OUT_OF_RESOURCES, CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT,
                               CL_DEVICE_NOT_AVAILABLE, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, -9999}) {
        const std::shared_ptr<gpu::DeviceMemory> memory = open();
        const Status status = read_with(*memory, error);
        ASSERT_FALSE(status.ok()) << error;
        EXPECT_EQ(status.error().code, Code::unavailable) << error;
        EXPECT_TRUE(memory->lost()) << error;
        EXPECT_FALSE(memory->allocate(100).ok()) << error;
    }
    for (const cl_int error : {CL_INVALID_VALUE, CL_OUT_OF_HOST_MEMORY}) {
        const std::shared_ptr<gpu::DeviceMemory> memory = open();
        EXPECT_FALSE(read_with(*memory, error).ok()) << error;
        EXPECT_FALSE(memory->lost()) << error;
    }
}

TEST_F(OpenClFaults, a_point_in_a_queue_is_passed_once_the_work_before_it_is_done)
{
    const Result<base::SharedLibrary> library = base::SharedLibrary::load("libOpenCL.so.1");
    ASSERT_TRUE(library.ok());
    auto* const create_user_event = library->find<cl_event(cl_context, cl_int*)>("clCreateUserEvent");
    auto* const set_status = library->find<cl_int(cl_event, cl_int)>("clSetUserEventStatus");
    ASSERT_TRUE(create_user_event != nullptr && set_status != nullptr);
    const std::shared_ptr<gpu::DeviceMemory> memory = open();
    EXPECT_FALSE(memory->mark(nullptr).ok()) << "which queue is meant is not known";

    cl_device_id device = gpu::cl::all_devices(*m_api).value().front();
    cl_int error = CL_SUCCESS;
    cl_context context = m_api->create_context(nullptr, 1, &device, nullptr, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    cl_command_queue queue = m_api->create_queue(context, device, 0, &error);
    cl_event gate = create_user_event(context, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    cl_event waiting = nullptr;
    ASSERT_EQ(m_api->enqueue_marker(queue, 1, &gate, &waiting), CL_SUCCESS);
    Result<std::unique_ptr<gpu::StreamPoint>> point = memory->mark(queue);
    ASSERT_TRUE(point.ok() && *point != nullptr);
    EXPECT_FALSE((*point)->passed());
    ASSERT_EQ(set_status(gate, CL_COMPLETE), CL_SUCCESS);
    ASSERT_EQ(m_api->finish(queue), CL_SUCCESS);
    EXPECT_TRUE((*point)->passed());
    point->reset();
    m_api->release_event(waiting);
    m_api->release_event(gate);
    m_api->release_queue(queue);
    m_api->release_context(context);
}

}  // namespace

}  // namespace hearth::test
