#include "compilers/opencl/kernel.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace hearth::opencl {

namespace {

using Sizes = std::array<std::size_t, 3>;

// A dimension that is not used has one work-item.
Sizes sizes_of(const Extent& extent)
{
    return {extent.x, std::max<std::size_t>(extent.y, 1), std::max<std::size_t>(extent.z, 1)};
}

cl_uint dimensions_of(const Extent& global)
{
    if (global.z > 0)
        return 3;
    return global.y > 0 ? 2 : 1;
}

// Launches of one kind may share the driver's code. PoCL compiles for the local size, which it chooses by the global
// size if none is given. It also compiles separately for ranges that begin at zero and for narrow ones.
std::string kind_of(const std::string& kernel, const Launch& range)
{
    constexpr std::size_t k_narrow = 65536;
    const Sizes global = sizes_of(range.global);
    const bool chosen = range.local.x != 0;
    const Sizes shape = chosen ? sizes_of(range.local) : global;
    const bool narrow = *std::max_element(global.begin(), global.end()) < k_narrow;
    const bool from_zero = range.offset.x + range.offset.y + range.offset.z == 0;
    return fmt::format("{} {} {}x{}x{}{}{}", kernel, chosen ? "local" : "global", shape[0], shape[1], shape[2],
                       narrow ? "" : " wide", from_zero ? "" : " offset");
}

std::string shown(const Extent& extent)
{
    const Sizes sizes = sizes_of(extent);
    return fmt::format("{}x{}x{}", sizes[0], sizes[1], sizes[2]);
}

// A number below zero arrives here as one that is larger than any device counts to.
Status check_range(const std::string& kernel, const Launch& range, std::uint32_t address_bits)
{
    const std::size_t most = address_bits == 32 ? UINT32_MAX : INT64_MAX;
    for (const Extent& extent : {range.global, range.local, range.offset})
        for (const std::size_t size : {extent.x, extent.y, extent.z})
            if (size > most)
                return error(Code::invalid_argument,
                             "Kernel \"{}\" is launched with a size or an offset of {}, and the device counts to {}. "
                             "Give a smaller one; a number below zero is none.",
                             kernel, size, most);
    return {};
}

}  // namespace

Result<std::shared_ptr<const KernelState>> make_kernel(const std::shared_ptr<ProgramState>& program,
                                                       const std::string& name)
{
    if (!program->program)
        return Error{Code::compile_failed, fmt::format("Kernel \"{}\" cannot be had: its program did not build.", name),
                     std::string(program->artifact->text("log"))};
    HEARTH_TRY(ContextState::check());
    const cl::Api& api = *program->context->api;
    cl_int error = CL_SUCCESS;
    cl_kernel id = api.create_kernel(program->program.id(), name.c_str(), &error);
    if (id == nullptr)
        return failure(Code::invalid_argument, fmt::format("There is no kernel \"{}\" in the program", name),
                       "clCreateKernel", error);
    auto kernel = std::make_shared<KernelState>(program, name, id);
    error = api.get_kernel_info(id, CL_KERNEL_NUM_ARGS, sizeof kernel->arguments, &kernel->arguments, nullptr);
    if (error != CL_SUCCESS)
        return failure(Code::io, fmt::format("Kernel \"{}\" does not tell its arguments", name), "clGetKernelInfo",
                       error);
    return std::shared_ptr<const KernelState>(std::move(kernel));
}

std::uint32_t Kernel::argument_count() const noexcept
{
    return m_state->arguments;
}

const std::string& Kernel::name() const noexcept
{
    return m_state->name;
}

void* Kernel::handle() const noexcept
{
    return m_state->id;
}

Status Kernel::launch_with(const Launch& range, std::span<const Argument> arguments)
{
    const std::string& name = m_state->name;
    ProgramState& program = *m_state->program;
    const cl::Api& api = *program.context->api;
    if (arguments.size() != m_state->arguments)
        return error(Code::invalid_argument, "Kernel \"{}\" takes {} arguments and is given {}.", name,
                     m_state->arguments, arguments.size());
    if (range.global.x == 0)
        return error(Code::invalid_argument, "Kernel \"{}\" is launched over no work-items. Give a global size.", name);
    HEARTH_TRY(check_range(name, range, program.context->device.address_bits));
    HEARTH_TRY(ContextState::check());
    // An argument belongs to the cl_kernel until the next launch: two threads must not set theirs in turns.
    std::unique_lock setting(m_state->launching);
    for (std::size_t i = 0; i < arguments.size(); ++i)
        if (const cl_int error =
                api.set_kernel_arg(m_state->id, static_cast<cl_uint>(i), arguments[i].size(), arguments[i].data());
            error != CL_SUCCESS)
            return failure(
                Code::invalid_argument,
                fmt::format("Argument {} of kernel \"{}\", of {} bytes, is not taken", i, name, arguments[i].size()),
                "clSetKernelArg", error);

    const Sizes global = sizes_of(range.global);
    const Sizes local = sizes_of(range.local);
    const Sizes offset{range.offset.x, range.offset.y, range.offset.z};
    auto* queue = range.queue != nullptr ? static_cast<cl_command_queue>(range.queue) : program.context->queue;
    if (const cl_int error =
            api.enqueue_kernel(queue, m_state->id, dimensions_of(range.global), offset.data(), global.data(),
                               range.local.x != 0 ? local.data() : nullptr, 0, nullptr, nullptr);
        error != CL_SUCCESS)
        return failure(Code::io,
                       fmt::format("Kernel \"{}\" was not launched over {} work-items in groups of {}", name,
                                   shown(range.global),
                                   range.local.x != 0 ? shown(range.local) : "the driver's choice"),
                       "clEnqueueNDRangeKernel", error);
    setting.unlock();

    if (program.watches_launches() && program.launched(name, kind_of(name, range))) {
        // If the binary cannot be stored, the next process loses time, but this launch does not fail.
        if (api.finish(queue) == CL_SUCCESS)
            static_cast<void>(program.store_again());
    }
    return {};
}

}  // namespace hearth::opencl
