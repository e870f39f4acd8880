// Takes the place of this folder where Hearth was built without OpenCL's header. Nothing can be opened, so nobody has
// an object that the rest could be asked of.

#include "hearth/opencl.hpp"

#include "base/error.hpp"

#include <cstdlib>

namespace hearth::opencl {

namespace {

Error left_out()
{
    return error(Code::unavailable, "This Hearth was built without OpenCL. Install opencl-c-headers and build again.");
}

}  // namespace

std::string_view to_string(DeviceType /*type*/)
{
    return "other";
}

Result<std::vector<Device>> devices()
{
    return left_out();
}
Result<Device> find_device(std::size_t /*index*/)
{
    return left_out();
}
Result<Device> find_device(std::string_view /*name*/)
{
    return left_out();
}
Result<Context> Context::open(const Device& /*device*/)
{
    return left_out();
}
Result<Context> Context::adopt(void* /*context*/, void* /*device*/, void* /*queue*/)
{
    return left_out();
}
Result<Program> build(Cache& /*cache*/, const Context& /*context*/, const Source& /*source*/,
                      const BuildOptions& /*options*/)
{
    return left_out();
}
Result<Planned> plan(const Device& /*device*/, const Source& /*source*/)
{
    return left_out();
}
std::uint64_t rejected_binaries() noexcept
{
    return 0;
}

// clang-format off
Status Buffer::write(ByteView /*data*/) const { std::abort(); }
Status Buffer::read(std::span<std::byte> /*out*/) const { std::abort(); }
const Device& Context::device() const noexcept { std::abort(); }
void* Context::handle() const noexcept { std::abort(); }
void* Context::queue() const noexcept { std::abort(); }
Result<Buffer> Context::buffer(std::size_t /*size*/) const { std::abort(); }
Result<Buffer> Context::buffer(ByteView /*data*/) const { std::abort(); }
Status Context::finish() const { std::abort(); }
Status Kernel::launch_with(const Launch& /*range*/, std::span<const Argument> /*arguments*/) { std::abort(); }
std::uint32_t Kernel::argument_count() const noexcept { std::abort(); }
const std::string& Kernel::name() const noexcept { std::abort(); }
void* Kernel::handle() const noexcept { std::abort(); }
const Artifact& Program::artifact() const noexcept { std::abort(); }
Result<Kernel> Program::kernel(const std::string& /*name*/) const { std::abort(); }
void* Program::handle() const noexcept { std::abort(); }
Outcome Program::outcome() const noexcept { std::abort(); }
const std::string& Program::reason() const noexcept { std::abort(); }
const std::string& Program::tier() const noexcept { std::abort(); }
const Request& Program::request() const noexcept { std::abort(); }
Status Program::store_again() const { std::abort(); }
// clang-format on

}  // namespace hearth::opencl
