#pragma once

#include "compilers/opencl/program.hpp"

#include <memory>
#include <mutex>
#include <string>

namespace hearth::opencl {

struct KernelState {
    KernelState(std::shared_ptr<ProgramState> its_program, std::string its_name, cl_kernel its_id)
        : program(std::move(its_program)), name(std::move(its_name)), id(its_id)
    {
        program->handed_out(name);
    }
    ~KernelState()
    {
        if (program->context->is_lost())
            return;
        program->context->api->release_kernel(id);
        program->dropped(name);
    }
    KernelState(const KernelState&) = delete;
    KernelState& operator=(const KernelState&) = delete;

    const std::shared_ptr<ProgramState> program;
    const std::string name;
    cl_kernel id;
    cl_uint arguments = 0;
    mutable std::mutex launching;  // from the first argument that is set until it is enqueued
};

Result<std::shared_ptr<const KernelState>> make_kernel(const std::shared_ptr<ProgramState>& program,
                                                       const std::string& name);

}  // namespace hearth::opencl
