#include "opencl_test.hpp"

namespace hearth::test {

namespace {

class OpenClDevices : public OpenClTest {};

TEST_F(OpenClDevices, are_listed_with_what_decides_a_build)
{
    const Result<std::vector<opencl::Device>> all = opencl::devices();
    ASSERT_TRUE(all.ok()) << all.error().message;
    for (std::size_t i = 0; i < all->size(); ++i) {
        const opencl::Device& device = (*all)[i];
        EXPECT_EQ(device.index, i);
        EXPECT_FALSE(device.name.empty());
        EXPECT_FALSE(device.platform.empty());
        EXPECT_FALSE(device.platform_version.empty());
        EXPECT_FALSE(device.driver_version.empty());
        EXPECT_NE(device.id, nullptr);
    }
}

TEST_F(OpenClDevices, are_chosen_by_index_or_name)
{
    const opencl::Device first = opencl::find_device(0).value();
    EXPECT_EQ(opencl::find_device(first.name).value().name, first.name);
    EXPECT_FALSE(opencl::find_device(1000).ok());

    const Result<opencl::Device> unknown = opencl::find_device("no such device");
    ASSERT_FALSE(unknown.ok());
    EXPECT_NE(unknown.error().message.find("There is no OpenCL device \"no such device\". There are: 0 \"" +
                                           first.name + "\""),
              std::string::npos)
        << unknown.error().message;
}

TEST_F(OpenClDevices, a_context_of_the_callers_is_used_with_its_device)
{
    const Result<opencl::Context> adopted =
        opencl::Context::adopt(context().handle(), context().device().id, context().queue());
    ASSERT_TRUE(adopted.ok()) << adopted.error().message;
    EXPECT_EQ(adopted->handle(), context().handle());
    EXPECT_EQ(adopted->queue(), context().queue());
    EXPECT_EQ(adopted->device().name, context().device().name);
    EXPECT_FALSE(opencl::Context::adopt(nullptr).ok());

    const Result<opencl::Program> program = opencl::build(*m_cache, *adopted, saxpy_source());
    ASSERT_TRUE(program.ok()) << program.error().message;
    EXPECT_FALSE(program->failed()) << program->log();
}

TEST_F(OpenClDevices, buffers_keep_what_is_written)
{
    const std::vector<int> numbers{1, 2, 3, 4};
    const Result<opencl::Buffer> buffer = context().buffer_of(numbers);
    ASSERT_TRUE(buffer.ok()) << buffer.error().message;
    EXPECT_EQ(buffer->size(), 16U);
    EXPECT_EQ(buffer->read_as<int>().value(), numbers);
    const Status too_long = buffer->write(as_bytes(std::string_view("four bytes too many.")));
    ASSERT_FALSE(too_long.ok());
    EXPECT_EQ(too_long.error().message, "20 bytes do not fit a buffer of 16. Make it larger.");
    EXPECT_FALSE(context().buffer(std::size_t{0}).ok());
}

TEST(OpenClLibrary, one_that_is_not_there_is_named)
{
    IsolatedEnvironment environment;
    environment.set("HEARTH_OPENCL", "/no/such/libOpenCL.so.1");
    const Result<std::vector<opencl::Device>> all = opencl::devices();
    ASSERT_FALSE(all.ok());
    EXPECT_EQ(all.error().code, Code::unavailable);
    EXPECT_NE(all.error().message.find("/no/such/libOpenCL.so.1"), std::string::npos) << all.error().message;
}

}  // namespace

}  // namespace hearth::test
