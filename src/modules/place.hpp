#pragma once

#include "base/error.hpp"
#include "gpu/cuda/cuda_context.hpp"

namespace hearth::cuda {

// Where modules are loaded: the driver, and the context that was current on the thread that asked.
struct Place {
    const gpu::CudaDriver* driver = nullptr;
    gpu::CudaContext context;
};

inline Result<Place> place_here()
{
    const Result<const gpu::CudaDriver*> driver = gpu::cuda_driver();
    HEARTH_TRY(driver);
    const Result<gpu::CudaContext> context = gpu::current_context(**driver);
    HEARTH_TRY(context);
    return Place{*driver, *context};
}

}  // namespace hearth::cuda
